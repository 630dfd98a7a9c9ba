"""Arguments that are JSON but not in the shape of the schema. A repair counts only if it fits.

| repair | what was wrong |
|---|---|
| `double_encoded` | the arguments were a string that holds the object |
| `empty_arguments` | null, `"null"`, `""` or `[]` instead of no arguments |
| `unwrapped_array` | the object was the one item of an array |
| `unwrapped_arguments` | the object was under a lone `arguments`, `input`, `parameters`, ... |
| `decoded_string` | an object or array inside the arguments was written as a string |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from probes.call_arguments import Misfit, SchemaChecker, describe_type
from probes.messages import JSON
from probes.resolve.json_repair import read_strictly
from probes.schemas.types import declared_keys, properties_at, type_name, types_of

WRAPPERS = ("arguments", "input", "parameters", "args", "params")
MAX_ENCODINGS = 2
MAX_DECODED = 32
MAX_CANDIDATES = 64
_STRUCTURED = frozenset({"object", "array"})

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class FittedArguments:
    """Arguments that fit the schema, or the reason why not: no object, or a misfit."""

    value: Mapping[str, JSON] | None = None
    repairs: tuple[str, ...] = ()
    misfit: Misfit | None = None
    not_an_object: str = ""


def fit_arguments(value: JSON, checker: SchemaChecker) -> FittedArguments:
    """Fit the arguments to the schema, with the named repairs and no others."""
    value, repairs = _as_object(value)
    if not isinstance(value, Mapping):
        return FittedArguments(
            not_an_object=f"The arguments are {describe_type(value)}, not an object."
        )
    inner = _unwrap(value, checker)
    if inner is not None:
        fitted = _fit_object(inner, checker, (*repairs, "unwrapped_arguments"))
        if fitted.misfit is None:
            return fitted
    return _fit_object(value, checker, repairs)


def fit_unchanged(value: JSON, checker: SchemaChecker) -> FittedArguments:
    """The arguments if they fit without any repair."""
    if not isinstance(value, Mapping):
        return FittedArguments(
            not_an_object=f"The arguments are {describe_type(value)}, not an object."
        )
    misfit = checker.misfit(value)
    return FittedArguments(misfit=misfit) if misfit else FittedArguments(value)


def _as_object(value: JSON) -> tuple[JSON, tuple[str, ...]]:
    repairs: list[str] = []
    for _ in range(MAX_ENCODINGS):
        if not isinstance(value, str) or value.strip() in ("", "null"):
            break
        read = read_strictly(value)
        if read.error is not None:
            break
        value = read.value
        repairs.append("double_encoded")
    match value:
        case None | "null" | []:
            return {}, (*repairs, "empty_arguments")
        case str() if not value.strip():
            return {}, (*repairs, "empty_arguments")
        case [Mapping() as only]:
            return only, (*repairs, "unwrapped_array")
        case _:
            return value, tuple(repairs)


def _unwrap(value: Mapping[str, JSON], checker: SchemaChecker) -> Mapping[str, JSON] | None:
    """The value under a lone wrapper key that the schema does not declare."""
    declared = declared_keys(checker.schema, checker.schema)
    if len(value) != 1 or not declared:
        return None
    key, inner = next(iter(value.items()))
    if key not in WRAPPERS or key in declared:
        return None
    # If the schema allows other keys and the wrapper fits, the wrapper is meant literally.
    if checker.schema.get("additionalProperties") and checker.misfit(value) is None:
        return None
    if isinstance(inner, str):
        inner = read_strictly(inner).value
    if not isinstance(inner, Mapping) or not inner or not declared.issuperset(inner):
        return None
    return inner


def _fit_object(
    value: Mapping[str, JSON], checker: SchemaChecker, repairs: tuple[str, ...]
) -> FittedArguments:
    misfit = checker.misfit(value)
    fixed: JSON = value
    if misfit is not None:
        fixed = _decode_misfits(value, misfit, checker)
    if fixed is not None:
        fixed = _prefer_structure(fixed, checker)
    if not isinstance(fixed, Mapping):
        return FittedArguments(misfit=misfit)
    decoded = () if fixed is value else ("decoded_string",)
    return FittedArguments(fixed, (*repairs, *decoded))


def _decode_misfits(value: JSON, misfit: Misfit | None, checker: SchemaChecker) -> JSON:
    """The value with strings decoded until it fits; None if that does not help."""
    for _ in range(MAX_DECODED):
        if misfit is None:
            return value
        wrong = _value_at(value, misfit.steps)
        if not isinstance(wrong, str):
            return _decode_in_union(value, misfit.steps, checker)
        decoded = _container(wrong)
        if decoded is None:
            return None
        value = _replace_at(value, misfit.steps, decoded)
        misfit = checker.misfit(value)
    return None


def _decode_in_union(value: JSON, steps: Path, checker: SchemaChecker) -> JSON:
    """A union misfits as a whole, so try every string inside it."""
    candidates = []
    for path, text in _strings(_value_at(value, steps), steps):
        decoded = _container(text)
        if decoded is not None:
            candidates.append((path, decoded))
    all_decoded = value
    for path, decoded in candidates[:MAX_DECODED]:
        candidate = _replace_at(value, path, decoded)
        if checker.misfit(candidate) is None:
            return candidate
        all_decoded = _replace_at(all_decoded, path, decoded)
    return all_decoded if candidates and checker.misfit(all_decoded) is None else None


def _prefer_structure(value: JSON, checker: SchemaChecker) -> JSON:
    """Decode strings that a union of text and structure would accept as text."""
    for path, text in _strings(value, ()):
        types = _types_at(path, checker)
        if "string" not in types or not types & _STRUCTURED:
            continue
        decoded = _container(text)
        if decoded is None or type_name(decoded) not in types:
            continue
        better = _replace_at(value, path, decoded)
        if checker.misfit(better) is None:
            value = better
    return value


def _types_at(path: Path, checker: SchemaChecker) -> frozenset[str]:
    schemas: list[JSON] = [checker.schema]
    for step in path:
        if isinstance(step, int):
            below = [schema.get("items") for schema in schemas if isinstance(schema, Mapping)]
        else:
            declared = (properties_at(schema, checker.schema, step) for schema in schemas)
            below = [schema for some in declared for schema in some]
        schemas = [schema for schema in below if isinstance(schema, Mapping)]
    return frozenset().union(*(types_of(schema, checker.schema) for schema in schemas))


def _strings(value: JSON, path: Path) -> Iterator[tuple[Path, str]]:
    """The strings in a value that may hold an object or array, up to a limit."""
    pending: list[tuple[Path, JSON]] = [(path, value)]
    remaining = MAX_CANDIDATES
    while pending and remaining:
        path, value = pending.pop()
        match value:
            case str() if value.lstrip()[:1] in ("{", "["):
                remaining -= 1
                yield path, value
            case Mapping():
                pending.extend(((*path, key), item) for key, item in value.items())
            case list():
                pending.extend(((*path, index), item) for index, item in enumerate(value))
            case _:
                pass


def _container(text: str) -> JSON:
    """The object or array in a string, or None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    return read_strictly(text).value


def _value_at(value: JSON, steps: Path) -> JSON:
    for step in steps:
        match value:
            case Mapping() if isinstance(step, str):
                value = value.get(step)
            case list() if isinstance(step, int) and step < len(value):
                value = value[step]
            case _:
                return None
    return value


def _replace_at(value: JSON, steps: Path, new: JSON) -> JSON:
    """A copy of the value with one place replaced."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(value, Mapping) and isinstance(step, str):
        return {**value, step: _replace_at(value.get(step), rest, new)}
    if isinstance(value, Sequence) and not isinstance(value, str) and isinstance(step, int):
        copy = list(value)
        copy[step] = _replace_at(copy[step], rest, new)
        return copy
    return value
