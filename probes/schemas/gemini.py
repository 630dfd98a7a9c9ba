"""Gemini's schema dialect as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping

from probes.messages import JSON

SCHEMAS = ("items", "additionalProperties")
SCHEMA_MAPS = ("properties", "$defs")
SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
# The API writes 64-bit integers as strings.
NUMBERS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def json_schema(schema: Mapping[str, JSON]) -> dict[str, JSON]:
    """The vendor's schema dialect as JSON Schema: types in lower case, null as a type."""
    converted = {
        name: _keyword(name, value) for name, value in schema.items() if name != "nullable"
    }
    if schema.get("nullable") is True and isinstance(converted.get("type"), str):
        converted["type"] = [converted["type"], "null"]
        if isinstance(values := converted.get("enum"), list):
            converted["enum"] = [*values, None]
    return converted


def _keyword(name: str, value: JSON) -> JSON:
    if name == "type" and isinstance(value, str):
        return value.lower()
    if name in NUMBERS and isinstance(value, str) and value.isdecimal():
        return int(value[:18])
    if name in SCHEMA_MAPS and isinstance(value, Mapping):
        return {key: _schema(item) for key, item in value.items()}
    if name in SCHEMA_LISTS and isinstance(value, list | tuple):
        return [_schema(item) for item in value]
    return _schema(value) if name in SCHEMAS else value


def _schema(value: JSON) -> JSON:
    return json_schema(value) if isinstance(value, Mapping) else value
