"""What was said, as the type that a schema asks for."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping

from probes.messages import JSON

Schema = Mapping[str, JSON]
QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "«": "»", "‘": "’"}
YES, NO = ("true", "yes", "on", "enabled"), ("false", "no", "off", "disabled")
NOTHING = ("null", "none", "nil", "nothing")
EMPTY = ("an empty string", "the empty string", "empty string", "(empty)")
# fmt: off
WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}
# fmt: on
_NUMBER = re.compile(r"[-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ITEMS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


class UnfitValue(Exception):
    """The text cannot be read as this type."""


def _finite(said: str) -> float:
    number = float(said)
    if not math.isfinite(number):
        raise ValueError(said)
    return number


# What is read must be writable again, so NaN and what overflows is no JSON.
DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def convert_value(said: str, schema: Schema, root: Schema) -> JSON:
    """The value that a text stands for; the text itself where the schema does not fit it."""
    for candidate in alternatives(schema, root):
        try:
            return _as(said, candidate, root)
        except UnfitValue:
            continue
    return unquoted(said)


def fits_schema(said: str, schema: Schema, root: Schema) -> bool:
    """Whether a text can be read as what the schema asks for."""
    for candidate in alternatives(schema, root):
        try:
            _as(said, candidate, root)
        except UnfitValue:
            continue
        return True
    return False


def alternatives(schema: Schema, root: Schema, depth: int = 0) -> list[Schema]:
    """The plain schemas that a schema allows, text last: every text would be one."""
    schema = resolve(schema, root)
    found: list[Schema] = []
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and depth < 4:
            for option in options:
                if isinstance(option, Mapping):
                    found += alternatives(option, root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        found += [{**schema, "type": name} for name in kind]
    elif not found:
        found = [schema]
    if schema.get("nullable") is True:
        found.append({"type": "null"})
    return sorted(found, key=lambda option: _name(option) == "string")


def resolve(schema: Schema, root: Schema) -> Schema:
    """The schema that a local reference points to."""
    for _ in range(8):
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        target: JSON = root
        for step in reference[2:].split("/"):
            target = target.get(step) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            break
        schema = target
    return schema


def invent_value(schema: Schema, root: Schema) -> JSON:
    """A value for what nobody said: the least that the schema takes."""
    plain = alternatives(schema, root)[0]
    for key in ("default", "const"):
        if key in plain:
            return plain[key]
    options = plain.get("enum")
    if isinstance(options, list) and options:
        first: JSON = options[0]
        return first
    lowest = plain.get("minimum")
    if _name(plain) == "object":
        return {
            name: invent_value(rules, root)
            for name, rules in properties(plain, root).items()
            if name in required(plain)
        }
    blank: dict[str, JSON] = {
        "integer": lowest if isinstance(lowest, int) else 0,
        "number": lowest if isinstance(lowest, int | float) else 0,
        "boolean": False,
        "array": [],
        "null": None,
    }
    return blank.get(_name(plain), "unknown")


def properties(schema: Schema, root: Schema) -> dict[str, Schema]:
    """The declared properties that are schemas."""
    found = resolve(schema, root).get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {name: rules for name, rules in found.items() if isinstance(rules, Mapping)}


def required(schema: Schema) -> list[str]:
    """The names that must be there."""
    found = schema.get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def unquoted(said: str) -> str:
    """The text without one pair of quotes around the whole of it."""
    if len(said) > 1 and QUOTES.get(said[0]) == said[-1] and said[-1] not in said[1:-1]:
        return said[1:-1]
    return said


def _name(schema: Schema) -> str:
    kind = schema.get("type")
    return kind.lower() if isinstance(kind, str) else ""


def _as(said: str, schema: Schema, root: Schema) -> JSON:
    options = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if isinstance(options, list) and options:
        return _option(said, options)
    bare = unquoted(said.strip().rstrip(".;,!")).strip()
    reader = _READERS.get(_name(schema))
    if reader is not None:
        return reader(bare)
    match _name(schema):
        case "array":
            return _array(said, schema, root)
        case "string":
            return "" if unquoted(said).lower() in EMPTY else unquoted(said)
        case _:
            return _untyped(said)


def _option(said: str, options: list[JSON]) -> JSON:
    for shown in (said, unquoted(said), unquoted(said.strip().rstrip(".;,!")).strip()):
        for option in options:
            if str(option) == shown or json.dumps(option) == shown:
                return option
    lowered = said.lower()
    for option in options:
        if re.search(rf"(?<!\w){re.escape(str(option).lower())}(?!\w)", lowered):
            return option
    raise UnfitValue


def _number(said: str) -> JSON:
    if said.lower() in WORDS:
        return WORDS[said.lower()]
    if not _NUMBER.fullmatch(said) or len(said) > 400:
        raise UnfitValue
    plain = said.replace(",", "").replace("_", "")
    number = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    if not math.isfinite(number):
        raise UnfitValue
    return number


def _integer(said: str) -> JSON:
    number = _number(said)
    if isinstance(number, float):
        if not number.is_integer():
            raise UnfitValue
        return int(number)
    return number


def _null(said: str) -> JSON:
    if said.lower() not in NOTHING:
        raise UnfitValue
    return None


def _boolean(said: str) -> JSON:
    if said.lower() in YES:
        return True
    if said.lower() in NO:
        return False
    raise UnfitValue


def _array(said: str, schema: Schema, root: Schema) -> JSON:
    read = _json(said)
    if isinstance(read, list):
        return read
    item = schema.get("items")
    rules: Schema = item if isinstance(item, Mapping) else {}
    shown = said.strip().rstrip(".;")
    return [
        convert_value(piece.strip(), rules, root) for piece in _ITEMS.split(shown) if piece.strip()
    ]


def _object(said: str) -> JSON:
    read = _json(said)
    if not isinstance(read, Mapping):
        raise UnfitValue
    return read


def _untyped(said: str) -> JSON:
    read = _json(said)
    return unquoted(said) if read is None and said.strip() != "null" else read


def _json(said: str) -> JSON:
    try:
        value: JSON = DECODER.raw_decode(said.strip())[0]
    except (ValueError, RecursionError):
        return None
    return value


_READERS: Mapping[str, Callable[[str], JSON]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
    "object": _object,
}
