"""Tools, tool choices and results, as far as OpenAI's two formats share them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from probes.adapters.json_fields import (
    object_or_empty,
    require_list,
    require_object,
    require_text,
    text_or_empty,
)
from probes.adapters.tool_calls import custom_schema
from probes.messages import (
    JSON,
    ClientTool,
    Extra,
    ToolChoice,
    ToolResult,
    ToolSpec,
    VendorTool,
)

KNOWN_FUNCTION = ("name", "description", "parameters", "strict")
MODES = {"auto": "auto", "none": "none", "required": "required", "any": "required"}
Entry = Mapping[str, JSON]


def read_tools(
    value: JSON, format: str, read_specs: Callable[[Entry, str], Iterable[ToolSpec]]
) -> tuple[tuple[ToolSpec, ...], tuple[VendorTool, ...]]:
    """The client's tools, and the tools that the format defines."""
    specs: list[ToolSpec] = []
    defined: list[VendorTool] = []
    for index, item in enumerate([] if value is None else require_list(value, "$.tools")):
        entry = require_object(item, f"$.tools[{index}]")
        if found := list(read_specs(entry, f"$.tools[{index}]")):
            specs += found
        else:
            defined.append(_vendor_tool(entry, format, index))
    return tuple(specs), tuple(defined)


def read_function(
    fields: Entry, path: str, extra: Extra, declared: ClientTool | None = None
) -> ToolSpec:
    """A function declaration."""
    schema, strict = fields.get("parameters"), fields.get("strict")
    return ToolSpec(
        require_text(fields, "name", path),
        text_or_empty(fields.get("description")),
        None if schema is None else object_or_empty(schema),
        strict if isinstance(strict, bool) else None,
        extra,
        declared,
    )


def read_custom(fields: Entry, path: str, extra: Extra, declared: ClientTool) -> ToolSpec:
    """The declaration of a tool that takes free text."""
    return ToolSpec(
        require_text(fields, "name", path),
        text_or_empty(fields.get("description")),
        custom_schema(fields.get("format")),
        extra=extra,
        client_tool=declared,
    )


def write_function(spec: ToolSpec) -> dict[str, JSON]:
    """The fields of a function declaration."""
    function: dict[str, JSON] = {"name": spec.name}
    if spec.description:
        function["description"] = spec.description
    if spec.schema is not None:
        function["parameters"] = spec.schema
    if spec.strict is not None:
        function["strict"] = spec.strict
    return function


def write_custom(spec: ToolSpec) -> dict[str, JSON]:
    """The fields of a tool that takes free text."""
    assert spec.client_tool is not None
    name: dict[str, JSON] = {"name": spec.client_tool.name}
    return name | ({"description": spec.description} if spec.description else {})


def allowed_tools(mode: JSON, tools: JSON, read_name: Callable[[Entry], str]) -> ToolChoice | None:
    """A choice that permits some of the tools."""
    if not isinstance(mode, str) or mode not in MODES or not isinstance(tools, list | tuple):
        return None
    names = [read_name(object_or_empty(tool)) for tool in tools]
    return ToolChoice(MODES[mode], names=tuple(names)) if names and all(names) else None


def has_text_blocks(result: ToolResult, types: Container[str]) -> bool:
    """Whether a result's blocks are texts, which can be sent unchanged."""
    plain = all(is_plain(block, types) for block in result.blocks)
    return bool(result.blocks) and not result.is_error and plain


def is_plain(block: JSON, types: Container[str]) -> bool:
    """Whether a block is only text."""
    fields = object_or_empty(block)
    return set(fields) == {"type", "text"} and text_or_empty(fields.get("type")) in types


def _vendor_tool(entry: Entry, format: str, position: int) -> VendorTool:
    type_ = text_or_empty(entry.get("type"))
    name = text_or_empty(entry.get("name")) or text_or_empty(entry.get("server_label"))
    return VendorTool(name or type_, type_, format, entry, position)
