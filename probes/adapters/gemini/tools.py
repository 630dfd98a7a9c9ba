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
from probes.adapters.tool_calls import sent_choice
from probes.messages import AUTO, JSON, NONE, REQUIRED, ModelCall, ToolChoice, ToolSpec, VendorTool
from probes.schemas.gemini import json_schema

MAX_TOOLS = 10_000
MODES = {"AUTO": AUTO, "ANY": REQUIRED, "NONE": NONE}
WORDS = {"auto": "AUTO", "required": "ANY", "named": "ANY", "none": "NONE"}


def read_tools(value: JSON) -> tuple[tuple[ToolSpec, ...], tuple[VendorTool, ...]]:
    """The declared functions, and the tools that the format defines: each field is one."""
    specs: list[ToolSpec] = []
    defined: list[VendorTool] = []
    for index, item in enumerate(require_list(value or [], "$.tools", limit=MAX_TOOLS)):
        path = f"$.tools[{index}]"
        entry = camel_case_fields(require_object(item, path))
        declared = require_list(
            entry.get("functionDeclarations") or [], f"{path}.functionDeclarations", limit=MAX_TOOLS
        )
        for place, declaration in enumerate(declared):
            at = f"{path}.functionDeclarations[{place}]"
            specs.append(_read_declaration(camel_case_fields(require_object(declaration, at)), at))
        for name, tool in unread_fields(entry, "functionDeclarations").items():
            defined.append(VendorTool(name, name, FORMAT, {name: tool}, index))
    return tuple(specs), tuple(defined)


def write_tools(call: ModelCall) -> list[JSON]:
    """The declared functions in one entry, then the tools that the format defines."""
    tools: list[JSON] = []
    if call.tools:
        tools.append({"functionDeclarations": [_write_declaration(spec) for spec in call.tools]})
    entries: dict[int, dict[str, JSON]] = {}
    for tool in call.vendor_tools:
        if tool.format == FORMAT:
            entries.setdefault(tool.position, {}).update(tool.raw)
    return [*tools, *entries.values()]


def read_choice(value: JSON) -> tuple[ToolChoice | None, dict[str, JSON]]:
    """The tool choice, and the whole toolConfig if a choice cannot express it."""
    if not isinstance(value, Mapping):
        return None, {}
    config = camel_case_fields(value)
    calling = camel_case_fields(copy_object(config, "functionCallingConfig"))
    choice = MODES.get(str(calling.get("mode")).upper())
    names = calling.get("allowedFunctionNames")
    if choice is REQUIRED and isinstance(names, list | tuple) and names:
        allowed = tuple(map(str, names))
        choice = ToolChoice("required", names=allowed)
        if len(allowed) == 1:
            choice = ToolChoice("named", allowed[0])
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
    elif choice.mode == "required" and choice.names:
        calling["allowedFunctionNames"] = [*choice.names]
    return {"functionCallingConfig": calling}


def write_config(call: ModelCall) -> dict[str, JSON]:
    """The toolConfig of a request, as it was read if the choice is unchanged."""
    kept_config = copy_object(own_fields(call.extra, FORMAT), "toolConfig")
    if kept_config and read_choice(kept_config)[0] == call.tool_choice:
        return kept_config
    return kept_config | write_choice(sent_choice(call, FORMAT))


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
