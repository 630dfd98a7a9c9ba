"""A schema as a list of plain schemas: no references, no unions, one type each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from probes.messages import JSON
from probes.schemas.types import resolve_ref, type_name

MAX_VARIANTS = 16
MAX_RECURSION = 2  # how often a schema may refer to itself on one path
MAX_REFS = 32
MAX_EXPANSIONS = 500
SCALARS = frozenset({"string", "integer", "number", "boolean"})
_COMPOSED = ("$ref", "allOf", "anyOf", "oneOf")


class TooIntricate(Exception):
    """The schema refers to itself too often or admits too many variants."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One plain schema, and the references that were followed to reach it."""

    schema: Mapping[str, JSON]
    refs: tuple[str, ...]

    @property
    def type(self) -> str:
        """Its one type; "" if it admits any."""
        name = self.schema.get("type")
        return name if isinstance(name, str) else ""


def expand_variants(
    schema: JSON, root: Mapping[str, JSON], refs: tuple[str, ...] = ()
) -> list[Variant]:
    """The plain schemas of which a value must fit one. Excluding constraints are dropped."""
    return _Expansion(root).variants(schema, refs)


def merge_objects(variants: list[Variant]) -> Variant:
    """One object schema that admits everything that any of several admits."""
    properties: dict[str, list[JSON]] = {}
    for variant in variants:
        for key, value in _mapping(variant.schema.get("properties")).items():
            known = properties.setdefault(key, [])
            if value not in known:
                known.append(value)
    required = set.intersection(*(_names(variant.schema.get("required")) for variant in variants))
    schema: dict[str, JSON] = {
        **variants[0].schema,
        "type": "object",
        "properties": {
            key: known[0] if len(known) == 1 else {"anyOf": known}
            for key, known in properties.items()
        },
        "required": sorted(required),
    }
    return Variant(schema, max((variant.refs for variant in variants), key=len))


def collapse_scalars(variants: list[Variant]) -> Variant | None:
    """One scalar schema that admits everything that several of the same type admit."""
    types = {variant.type for variant in variants}
    if types == {"integer", "number"}:
        types = {"number"}
    if len(types) > 1 or not types <= SCALARS:
        return None
    schema: dict[str, JSON] = {"type": types.pop()}
    if description := variants[0].schema.get("description"):
        schema["description"] = description
    choices = [_choices(variant.schema) for variant in variants]
    if all(choice is not None for choice in choices):
        schema["enum"] = [value for choice in choices if choice for value in choice]
    return Variant(schema, variants[0].refs)


@dataclass(slots=True)
class _Expansion:
    """One expansion; without the budget, mutually recursive unions would grow without limit."""

    root: Mapping[str, JSON]
    budget: int = MAX_EXPANSIONS

    def variants(self, schema: JSON, refs: tuple[str, ...]) -> list[Variant]:
        self.budget -= 1
        if self.budget < 0:
            raise TooIntricate
        if schema is False:
            return []
        if not isinstance(schema, Mapping):
            return [Variant({}, refs)]
        base = {key: value for key, value in schema.items() if key not in _COMPOSED}
        expanded = [Variant(base, refs)]
        for members in self._composition(schema, refs):
            expanded = _bounded(_combined(expanded, members, refs))
        return _bounded([plain for variant in expanded for plain in _by_type(variant)])

    def _composition(
        self, schema: Mapping[str, JSON], refs: tuple[str, ...]
    ) -> Iterator[list[Variant]]:
        """What must hold beside the schema's own keywords: one list of variants each."""
        if isinstance(ref := schema.get("$ref"), str):
            if refs.count(ref) >= MAX_RECURSION or len(refs) >= MAX_REFS:
                raise TooIntricate
            yield self.variants(resolve_ref(ref, self.root), (*refs, ref))
        if isinstance(members := schema.get("allOf"), list):
            yield from (self.variants(member, refs) for member in members)
        for union in ("anyOf", "oneOf"):
            if isinstance(members := schema.get(union), list):
                yield [plain for member in members for plain in self.variants(member, refs)]


def _bounded(variants: list[Variant]) -> list[Variant]:
    if len(variants) > MAX_VARIANTS:
        raise TooIntricate
    return variants


def _combined(left: list[Variant], right: list[Variant], refs: tuple[str, ...]) -> list[Variant]:
    combined = []
    for one in left:
        for other in right:
            schema = _merged(one.schema, other.schema)
            if schema is not None:
                combined.append(Variant(schema, one.refs + other.refs[len(refs) :]))
    return combined


def _merged(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """Both schemas combined; None if no value can fit both."""
    merged: dict[str, JSON] = {**other, **one}
    if "type" in one and "type" in other:
        types = _common_types(one["type"], other["type"])
        if not types:
            return None
        merged["type"] = list(types)
    if "properties" in one and "properties" in other:
        left, right = _mapping(one["properties"]), _mapping(other["properties"])
        merged["properties"] = {
            key: _both(left[key], right[key]) if key in left and key in right else value
            for key, value in {**left, **right}.items()
        }
    if required := _names(one.get("required")) | _names(other.get("required")):
        merged["required"] = sorted(required)
    return merged


def _both(one: JSON, other: JSON) -> JSON:
    return one if one == other else {"allOf": [one, other]}


def _common_types(one: JSON, other: JSON) -> list[str]:
    left, right = _type_names(one), _type_names(other)
    common = [name for name in left if name in right]
    if "integer" not in common and "integer" in left + right and "number" in left + right:
        common.append("integer")
    return common


def _by_type(variant: Variant) -> list[Variant]:
    schema = variant.schema
    choices = _choices(schema)
    types = _type_names(schema.get("type")) or _implied_types(schema, choices)
    if not types:
        return [variant]
    variants = []
    for name in types:
        plain = {key: value for key, value in schema.items() if key != "const"}
        plain["type"] = name
        if choices is not None:
            plain["enum"] = [value for value in choices if _has_type(value, name)]
        if plain.get("enum") != []:
            variants.append(Variant(plain, variant.refs))
    return variants


def _implied_types(schema: Mapping[str, JSON], choices: list[JSON] | None) -> list[str]:
    if choices is not None:
        return list(dict.fromkeys(type_name(value) for value in choices))
    if "properties" in schema or "required" in schema:
        return ["object"]
    return ["array"] if "items" in schema else []


def _has_type(value: JSON, name: str) -> bool:
    own = type_name(value)
    return own == name or (own == "integer" and name == "number")


def _choices(schema: Mapping[str, JSON]) -> list[JSON] | None:
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return list(values) if isinstance(values, list) else None


def _type_names(value: JSON) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _names(value: JSON) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _mapping(value: JSON) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}
