"""Tools and results, as far as OpenAI's two formats share them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from probes.adapters.json_fields import (
    list_or_empty,
    object_or_empty,
    require_list,
    require_object,
    require_text,
    text_or_empty,
)
from probes.messages import JSON, Extra, ModelCall, ToolResult, ToolSpec

KNOWN_FUNCTION = ("name", "description", "parameters", "strict")


def read_tools(
    value: JSON, read_spec: Callable[[Mapping[str, JSON], str], ToolSpec]
) -> tuple[list[ToolSpec], list[JSON]]:
    """The functions, and the tools of other types with their positions."""
    specs: list[ToolSpec] = []
    others: list[JSON] = []
    for index, item in enumerate([] if value is None else require_list(value, "$.tools")):
        entry = require_object(item, f"$.tools[{index}]")
        if entry.get("type") == "function":
            specs.append(read_spec(entry, f"$.tools[{index}]"))
        else:
            others.append({"at": index, "tool": entry})
    return specs, others


def write_tools(
    call: ModelCall, write_spec: Callable[[ToolSpec], dict[str, JSON]], format: str
) -> list[JSON]:
    """All tools, those of other types at their positions."""
    tools: list[JSON] = [write_spec(spec) for spec in call.tools]
    for other in list_or_empty(object_or_empty(call.extra.get(format)).get("$tools")):
        entry = object_or_empty(other)
        if isinstance(position := entry.get("at"), int):
            tools.insert(position, entry.get("tool"))
    return tools


def read_function(fields: Mapping[str, JSON], path: str, extra: Extra) -> ToolSpec:
    """A function declaration."""
    schema, strict = fields.get("parameters"), fields.get("strict")
    return ToolSpec(
        require_text(fields, "name", path),
        text_or_empty(fields.get("description")),
        None if schema is None else object_or_empty(schema),
        strict if isinstance(strict, bool) else None,
        extra,
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


def has_text_blocks(result: ToolResult, types: Container[str]) -> bool:
    """Whether a result's blocks are texts, which can be sent unchanged."""
    plain = all(is_plain(block, types) for block in result.blocks)
    return bool(result.blocks) and not result.is_error and plain


def is_plain(block: JSON, types: Container[str]) -> bool:
    """Whether a block is only text."""
    fields = object_or_empty(block)
    return set(fields) == {"type", "text"} and text_or_empty(fields.get("type")) in types
