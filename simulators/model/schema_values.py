"""Converts text to a value of the type that a schema requires."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping

from probes.messages import JSON

Schema = Mapping[str, JSON]
QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "«": "»", "‘": "’"}
TRUE_WORDS, FALSE_WORDS = ("true", "yes", "on", "enabled"), ("false", "no", "off", "disabled")
NULL_WORDS = ("null", "none", "nil", "nothing")
EMPTY_PHRASES = ("an empty string", "the empty string", "empty string", "(empty)")
# fmt: off
NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}
# fmt: on
_NUMBER = re.compile(r"[-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_ITEMS = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+")


class UnfitValue(Exception):
    """The text cannot be read as this type."""


def _read_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


# Every value must be writable as JSON again, so NaN and overflows are rejected.
DECODER = json.JSONDecoder(parse_float=_read_finite, parse_constant=_read_finite)


def convert_value(text: str, schema: Schema, root: Schema) -> JSON:
    """The value of a text; the text itself if it does not fit the schema."""
    for candidate in alternatives(schema, root):
        try:
            return _convert(text, candidate, root)
        except UnfitValue:
            continue
    return strip_quotes(text)


def fits_schema(text: str, schema: Schema, root: Schema) -> bool:
    """Whether a text can be converted to a value of the schema."""
    for candidate in alternatives(schema, root):
        try:
            _convert(text, candidate, root)
        except UnfitValue:
            continue
        return True
    return False


def alternatives(schema: Schema, root: Schema, depth: int = 0) -> list[Schema]:
    """The plain schemas that a schema allows, strings last because any text fits them."""
    schema = resolve(schema, root)
    schemas: list[Schema] = []
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and depth < 4:
            for option in options:
                if isinstance(option, Mapping):
                    schemas += alternatives(option, root, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        schemas += [{**schema, "type": name} for name in kind]
    elif not schemas:
        schemas = [schema]
    if schema.get("nullable") is True:
        schemas.append({"type": "null"})
    return sorted(schemas, key=lambda option: _type_name(option) == "string")


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
    """A value for an unstated property: the smallest that the schema allows."""
    plain = alternatives(schema, root)[0]
    for key in ("default", "const"):
        if key in plain:
            return plain[key]
    options = plain.get("enum")
    if isinstance(options, list) and options:
        first: JSON = options[0]
        return first
    lowest = plain.get("minimum")
    if _type_name(plain) == "object":
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
    return blank.get(_type_name(plain), "unknown")


def properties(schema: Schema, root: Schema) -> dict[str, Schema]:
    """The declared properties that are schemas."""
    declared = resolve(schema, root).get("properties")
    if not isinstance(declared, Mapping):
        return {}
    return {name: rules for name, rules in declared.items() if isinstance(rules, Mapping)}


def required(schema: Schema) -> list[str]:
    """The names of the required properties."""
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def strip_quotes(text: str) -> str:
    """The text without one pair of quotes around the whole of it."""
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1] and text[-1] not in text[1:-1]:
        return text[1:-1]
    return text


def _type_name(schema: Schema) -> str:
    kind = schema.get("type")
    return kind.lower() if isinstance(kind, str) else ""


def _convert(text: str, schema: Schema, root: Schema) -> JSON:
    options = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if isinstance(options, list) and options:
        return _match_option(text, options)
    bare = strip_quotes(text.strip().rstrip(".;,!")).strip()
    reader = _READERS.get(_type_name(schema))
    if reader is not None:
        return reader(bare)
    match _type_name(schema):
        case "array":
            return _read_array(text, schema, root)
        case "string":
            return "" if strip_quotes(text).lower() in EMPTY_PHRASES else strip_quotes(text)
        case _:
            return _read_untyped(text)


def _match_option(text: str, options: list[JSON]) -> JSON:
    for candidate in (text, strip_quotes(text), strip_quotes(text.strip().rstrip(".;,!")).strip()):
        for option in options:
            if str(option) == candidate or json.dumps(option) == candidate:
                return option
    lowered = text.lower()
    for option in options:
        if re.search(rf"(?<!\w){re.escape(str(option).lower())}(?!\w)", lowered):
            return option
    raise UnfitValue


def _read_number(text: str) -> JSON:
    if text.lower() in NUMBER_WORDS:
        return NUMBER_WORDS[text.lower()]
    if not _NUMBER.fullmatch(text) or len(text) > 400:
        raise UnfitValue
    plain = text.replace(",", "").replace("_", "")
    number = int(plain) if plain.lstrip("+-").isdigit() else float(plain)
    if not math.isfinite(number):
        raise UnfitValue
    return number


def _read_integer(text: str) -> JSON:
    number = _read_number(text)
    if isinstance(number, float):
        if not number.is_integer():
            raise UnfitValue
        return int(number)
    return number


def _read_null(text: str) -> JSON:
    if text.lower() not in NULL_WORDS:
        raise UnfitValue
    return None


def _read_boolean(text: str) -> JSON:
    if text.lower() in TRUE_WORDS:
        return True
    if text.lower() in FALSE_WORDS:
        return False
    raise UnfitValue


def _read_array(text: str, schema: Schema, root: Schema) -> JSON:
    value = _parse_json(text)
    if isinstance(value, list):
        return value
    item = schema.get("items")
    rules: Schema = item if isinstance(item, Mapping) else {}
    items_text = text.strip().rstrip(".;")
    return [
        convert_value(piece.strip(), rules, root)
        for piece in _ITEMS.split(items_text)
        if piece.strip()
    ]


def _read_object(text: str) -> JSON:
    value = _parse_json(text)
    if not isinstance(value, Mapping):
        raise UnfitValue
    return value


def _read_untyped(text: str) -> JSON:
    value = _parse_json(text)
    return strip_quotes(text) if value is None and text.strip() != "null" else value


def _parse_json(text: str) -> JSON:
    try:
        value: JSON = DECODER.raw_decode(text.strip())[0]
    except (ValueError, RecursionError):
        return None
    return value


_READERS: Mapping[str, Callable[[str], JSON]] = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "null": _read_null,
    "object": _read_object,
}
