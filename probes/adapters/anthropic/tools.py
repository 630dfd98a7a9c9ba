"""Anthropic's tools and tool choice, both directions."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.anthropic.blocks import FORMAT
from probes.adapters.json_fields import (
    fields_with_values,
    keep_extra,
    own_fields,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import insert_vendor_tools, sent_choice
from probes.messages import JSON, ModelCall, ToolChoice, ToolSpec, VendorTool

MAX_TOOLS = 10_000
EMPTY_SCHEMA: Mapping[str, JSON] = {"type": "object", "properties": {}}
MODES = {"auto": "auto", "any": "required", "tool": "named", "none": "none"}
TYPES = {mode: type_ for type_, mode in MODES.items()}
KNOWN = ("name", "description", "input_schema", "strict")


def read_tools(value: JSON) -> tuple[tuple[ToolSpec, ...], tuple[VendorTool, ...]]:
    """The client's tools, and the tools that the format defines."""
    if value is None:
        return (), ()
    specs: list[ToolSpec] = []
    defined: list[VendorTool] = []
    for index, item in enumerate(require_list(value, "$.tools", limit=MAX_TOOLS)):
        entry = require_object(item, f"$.tools[{index}]")
        # No other format runs the vendor's server tools, or knows its typed ones.
        if entry.get("type", "custom") not in ("custom", None):
            defined.append(_read_vendor_tool(entry, index))
        else:
            specs.append(_read_tool(entry, f"$.tools[{index}]"))
    return tuple(specs), tuple(defined)


def write_tools(call: ModelCall) -> list[JSON]:
    """All tools, those that the format defines at their positions."""
    return insert_vendor_tools([_write_tool(spec) for spec in call.tools], call, FORMAT)


def read_choice(value: JSON) -> tuple[ToolChoice | None, bool | None, dict[str, JSON]]:
    """The tool choice, the parallel switch inside it, and its other fields."""
    if not isinstance(value, Mapping):
        return None, None, {} if value is None else {"tool_choice": value}
    type_ = value.get("type")
    if not isinstance(type_, str) or type_ not in MODES:
        return None, None, {"tool_choice": value}
    name = value.get("name")
    choice = ToolChoice(MODES[type_], name if isinstance(name, str) else "")
    disabled = value.get("disable_parallel_tool_use")
    parallel = not disabled if isinstance(disabled, bool) else None
    more = unread_fields(value, "type", "name", "disable_parallel_tool_use")
    return choice, parallel, {"tool_choice": more} if more else {}


def write_choice(call: ModelCall) -> dict[str, JSON]:
    """The tool_choice field, if there is anything to send in it."""
    more = own_fields(call.extra, FORMAT).get("tool_choice")
    choice = sent_choice(call, FORMAT)
    if choice is None and call.parallel is None:
        return {} if more is None else {"tool_choice": more}
    choice = choice or ToolChoice("auto")
    field: dict[str, JSON] = {"type": TYPES.get(choice.mode, "auto")}
    if choice.mode == "named":
        field["name"] = choice.name
    if call.parallel is not None and choice.mode != "none":
        field["disable_parallel_tool_use"] = not call.parallel
    return {"tool_choice": field | (dict(more) if isinstance(more, Mapping) else {})}


def _read_vendor_tool(entry: Mapping[str, JSON], position: int) -> VendorTool:
    type_ = text_or_empty(entry.get("type"))
    name = text_or_empty(entry.get("name")) or text_or_empty(entry.get("mcp_server_name"))
    return VendorTool(name or type_, type_, FORMAT, entry, position)


def _read_tool(entry: Mapping[str, JSON], path: str) -> ToolSpec:
    schema = entry.get("input_schema")
    description = entry.get("description")
    strict = entry.get("strict")
    return ToolSpec(
        require_text(entry, "name", path),
        description if isinstance(description, str) else "",
        schema if isinstance(schema, Mapping) else None,
        strict if isinstance(strict, bool) else None,
        keep_extra(FORMAT, unread_fields(entry, *KNOWN)),
    )


def _write_tool(spec: ToolSpec) -> dict[str, JSON]:
    tool: dict[str, JSON] = {"name": spec.name}
    if spec.description:
        tool["description"] = spec.description
    # The format refuses a tool without a schema.
    tool["input_schema"] = EMPTY_SCHEMA if spec.schema is None else spec.schema
    return tool | fields_with_values(strict=spec.strict) | own_fields(spec.extra, FORMAT)
