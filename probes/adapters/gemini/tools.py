"""Gemini's tools and tool choice, both directions."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.gemini.content_parts import FORMAT, camel_case_fields
from probes.adapters.json_fields import (
    copy_object,
    keep_extra,
    own_fields,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.messages import AUTO, JSON, NONE, REQUIRED, ModelCall, ToolChoice, ToolSpec

MAX_TOOLS = 10_000
MODES = {"AUTO": AUTO, "ANY": REQUIRED, "NONE": NONE}
WORDS = {"auto": "AUTO", "required": "ANY", "named": "ANY", "none": "NONE"}
SCHEMAS = ("items", "additionalProperties")
SCHEMA_MAPS = ("properties", "$defs")
SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
# The API writes 64-bit integers as strings.
NUMBERS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")


def read_tools(value: JSON) -> tuple[tuple[ToolSpec, ...], dict[str, JSON]]:
    """The declared functions, and the vendor's own tools."""
    specs: list[ToolSpec] = []
    others: list[JSON] = []
    for index, item in enumerate(require_list(value or [], "$.tools", limit=MAX_TOOLS)):
        path = f"$.tools[{index}]"
        entry = camel_case_fields(require_object(item, path))
        declared = require_list(
            entry.get("functionDeclarations") or [], f"{path}.functionDeclarations", limit=MAX_TOOLS
        )
        for place, declaration in enumerate(declared):
            at = f"{path}.functionDeclarations[{place}]"
            specs.append(_read_declaration(camel_case_fields(require_object(declaration, at)), at))
        if more := unread_fields(entry, "functionDeclarations"):
            others.append(more)
    return tuple(specs), {"tools": others} if others else {}


def write_tools(call: ModelCall) -> list[JSON]:
    """The declared functions in one entry, then the vendor's own tools."""
    tools: list[JSON] = []
    if call.tools:
        tools.append({"functionDeclarations": [_write_declaration(spec) for spec in call.tools]})
    others = own_fields(call.extra, FORMAT).get("tools")
    return [*tools, *others] if isinstance(others, list | tuple) else tools


def read_choice(value: JSON) -> tuple[ToolChoice | None, dict[str, JSON]]:
    """The tool choice, and the whole toolConfig if a choice cannot express it."""
    if not isinstance(value, Mapping):
        return None, {}
    config = camel_case_fields(value)
    calling = camel_case_fields(copy_object(config, "functionCallingConfig"))
    choice = MODES.get(str(calling.get("mode")).upper())
    names = calling.get("allowedFunctionNames")
    if choice is REQUIRED and isinstance(names, list | tuple) and len(names) == 1:
        choice = ToolChoice("named", str(names[0]))
    if write_choice(choice) == config:
        return choice, {}
    return choice, {"toolConfig": config}


def write_choice(choice: ToolChoice | None) -> dict[str, JSON]:
    """A toolConfig with the choice; empty if there is none."""
    if choice is None:
        return {}
    calling: dict[str, JSON] = {"mode": WORDS.get(choice.mode, "AUTO")}
    if choice.mode == "named":
        calling["allowedFunctionNames"] = [choice.name]
    return {"functionCallingConfig": calling}


def write_config(call: ModelCall) -> dict[str, JSON]:
    """The toolConfig of a request, as it was read if the choice is unchanged."""
    kept_config = copy_object(own_fields(call.extra, FORMAT), "toolConfig")
    if kept_config and read_choice(kept_config)[0] == call.tool_choice:
        return kept_config
    return kept_config | write_choice(call.tool_choice)


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


def _read_declaration(entry: Mapping[str, JSON], path: str) -> ToolSpec:
    more = unread_fields(entry, "name", "description", "parametersJsonSchema")
    parameters = entry.get("parameters")
    schema = entry.get("parametersJsonSchema")
    if isinstance(parameters, Mapping):
        schema = json_schema(parameters)
    return ToolSpec(
        require_text(entry, "name", path),
        text_or_empty(entry.get("description")),
        schema if isinstance(schema, Mapping) else None,
        extra=keep_extra(FORMAT, more),
    )


def _write_declaration(spec: ToolSpec) -> dict[str, JSON]:
    more = own_fields(spec.extra, FORMAT)
    declared: dict[str, JSON] = {"name": spec.name, "description": spec.description}
    parameters = more.pop("parameters", None)
    if isinstance(parameters, Mapping) and json_schema(parameters) == spec.schema:
        declared["parameters"] = parameters
    elif spec.schema is not None:
        declared["parametersJsonSchema"] = spec.schema
    return declared | more
