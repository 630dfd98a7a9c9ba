"""Ollama's tool calls and tools, to values and back."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import (
    MINTED,
    Notes,
    copy_object,
    fields_with_values,
    is_minted_id,
    keep_extra,
    mint_call_id,
    own_fields,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import breakage_of, read_input
from probes.messages import JSON, BrokenCall, ToolCall, ToolSpec

FORMAT = "ollama"
MAX_CALLS = 1024
MAX_TOOLS = 10_000


def read_call(item: JSON, path: str, notes: Notes, seed: str) -> ToolCall | BrokenCall:
    """One entry of tool_calls. Older servers send no id."""
    entry = require_object(item, path)
    function = require_object(entry.get("function"), f"{path}.function")
    name = require_text(function, "name", f"{path}.function")
    at = f"{path}.function.arguments"
    call_input = read_input(
        function.get("arguments"), at, notes, error="The arguments are not an object."
    )
    id_ = text_or_empty(entry.get("id"))
    used = id_ or mint_call_id(notes.seed, seed, name, call_input.raw)
    if call_input.value is None:
        kind = breakage_of(call_input.error)
        return BrokenCall(call_input.raw, call_input.error, kind, name, used, at, FORMAT)
    more = unread_fields(entry, "id", "function")
    if unread := unread_fields(function, "name", "arguments"):
        more["function"] = unread
    if not id_:
        more[MINTED] = True
    return ToolCall(
        used, name, call_input.value, FORMAT, call_input.raw, extra=keep_extra(FORMAT, more)
    )


def write_call(call: ToolCall, index: int | None = None) -> dict[str, JSON]:
    """An entry of tool_calls; `index` is for clients that number calls by it."""
    more = own_fields(call.extra, FORMAT)
    call_index = index if call.format != FORMAT else None
    function = fields_with_values(index=call_index) | {
        "name": call.name,
        "arguments": dict(call.input),
    }
    entry: dict[str, JSON] = {} if is_minted(call) else {"id": call.id}
    entry["function"] = function | copy_object(more, "function")
    return entry | unread_fields(more, "function", MINTED)


def is_minted(call: ToolCall) -> bool:
    """Whether the call was received without an id."""
    return MINTED in own_fields(call.extra, FORMAT) or is_minted_id(call.id)


def read_tools(value: JSON) -> tuple[ToolSpec, ...]:
    items = require_list(value or [], "$.tools", limit=MAX_TOOLS)
    return tuple(_read_tool(item, f"$.tools[{index}]") for index, item in enumerate(items))


def write_tool(spec: ToolSpec) -> dict[str, JSON]:
    more = own_fields(spec.extra, FORMAT)
    function: dict[str, JSON] = {"name": spec.name, "description": spec.description}
    function |= fields_with_values(parameters=spec.schema) | copy_object(more, "function")
    tool: dict[str, JSON] = {"type": "function", "function": function}
    return tool | unread_fields(more, "function")


def _read_tool(item: JSON, path: str) -> ToolSpec:
    entry = require_object(item, path)
    function = require_object(entry.get("function"), f"{path}.function")
    schema = function.get("parameters")
    typed = ("type",) if entry.get("type") == "function" else ()
    more = unread_fields(entry, "function", *typed)
    if unread := unread_fields(function, "name", "description", "parameters"):
        more["function"] = unread
    return ToolSpec(
        require_text(function, "name", f"{path}.function"),
        text_or_empty(function.get("description")),
        schema if isinstance(schema, Mapping) else None,
        extra=keep_extra(FORMAT, more),
    )
