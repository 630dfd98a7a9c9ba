"""Anthropic's content blocks, to parts and back."""

from __future__ import annotations

from collections.abc import Mapping

from probes.adapters.json_fields import (
    Notes,
    keep_extra,
    mint_id,
    object_or_empty,
    own_fields,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import breakage_of, read_input
from probes.errors import WireError
from probes.messages import (
    JSON,
    BrokenCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Text,
    ToolCall,
    ToolResult,
)

FORMAT = "anthropic"
MAX_BLOCKS = 1024
THINKING = ("thinking", "redacted_thinking")
RESULT_BLOCKS = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)


def read_blocks(content: JSON, path: str, notes: Notes) -> tuple[Part, ...]:
    """The parts of a message's content, a string or a list of blocks."""
    if isinstance(content, str):
        return (Text(content),)
    blocks = require_list(content, path, limit=MAX_BLOCKS)
    return tuple(read_block(block, f"{path}[{i}]", notes) for i, block in enumerate(blocks))


def read_block(block: JSON, path: str, notes: Notes) -> Part:
    """One block as a part; an unknown type is kept whole."""
    entry = require_object(block, path)
    match entry.get("type"):
        case "text":
            return Text(
                require_text(entry, "text", path),
                keep_extra(FORMAT, unread_fields(entry, "type", "text")),
            )
        case "thinking" | "redacted_thinking":
            thinking = text_or_empty(entry.get("thinking"))
            return Reasoning(thinking, ReasoningKind.BLOCK, entry)
        case "tool_use":
            return _read_call(entry, path, notes)
        case "tool_result":
            return _read_result(entry, path)
        case str():
            return Opaque(FORMAT, entry)
        case _:
            raise WireError("A block has no type.", f"{path}.type")


def write_block(part: Part) -> dict[str, JSON] | None:
    """The block of a part, or None if the format cannot carry it."""
    match part:
        case Text():
            return {"type": "text", "text": part.text, **own_fields(part.extra, FORMAT)}
        case Reasoning(kind=ReasoningKind.BLOCK, raw=Mapping() as raw):
            # The signature covers the block exactly as received.
            return dict(raw)
        case ToolCall():
            head: dict[str, JSON] = {"type": "tool_use", "id": part.id, "name": part.name}
            return head | {"input": dict(part.input)} | own_fields(part.extra, FORMAT)
        case ToolResult():
            return _write_result(part)
        case Opaque(format="anthropic", raw=Mapping() as raw):
            return dict(raw)
        case _:
            return None


def carries_blocks(result: ToolResult) -> bool:
    """Whether a result may consist of its blocks."""
    types = [text_or_empty(object_or_empty(item).get("type")) for item in result.blocks]
    return all(type_ in RESULT_BLOCKS for type_ in types)


def carries_reasoning(reasoning: Reasoning) -> bool:
    return reasoning.kind is ReasoningKind.BLOCK and isinstance(reasoning.raw, Mapping)


def _read_call(entry: Mapping[str, JSON], path: str, notes: Notes) -> ToolCall | BrokenCall:
    name = require_text(entry, "name", path)
    at = f"{path}.input"
    call_input = read_input(
        entry.get("input"), at, notes, error="The input of the call is not an object."
    )
    id_ = text_or_empty(entry.get("id"))
    if not id_:
        notes.note("missing_id", f"{path}.id")
        id_ = mint_id(path, name, call_input.raw)
    if call_input.value is None:
        kind = breakage_of(call_input.error)
        return BrokenCall(call_input.raw, call_input.error, kind, name, id_, at, FORMAT)
    extra = keep_extra(FORMAT, unread_fields(entry, "type", "id", "name", "input"))
    return ToolCall(id_, name, call_input.value, FORMAT, call_input.raw, extra=extra)


def _read_result(entry: Mapping[str, JSON], path: str) -> ToolResult:
    content = entry.get("content")
    blocks: tuple[JSON, ...] = ()
    match content:
        case None:
            content = ""
        case str():
            pass
        case [{"type": "text", "text": str(only), **more}] if not more:
            content = only
        case _:
            blocks = tuple(require_list(content, f"{path}.content", limit=MAX_BLOCKS))
            content = "\n".join(_texts(blocks))
    return ToolResult(
        require_text(entry, "tool_use_id", path),
        content,
        entry.get("is_error") is True,
        blocks=blocks,
        extra=keep_extra(
            FORMAT, unread_fields(entry, "type", "tool_use_id", "content", "is_error")
        ),
    )


def _texts(blocks: tuple[JSON, ...]) -> list[str]:
    texts = [item.get("text") for item in blocks if isinstance(item, Mapping)]
    return [item for item in texts if isinstance(item, str)]


def _write_result(result: ToolResult) -> dict[str, JSON]:
    content: JSON = result.content
    if result.blocks and carries_blocks(result):
        content = list(result.blocks)
    block: dict[str, JSON] = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": content,
    }
    if result.is_error:
        block["is_error"] = True
    return block | own_fields(result.extra, FORMAT)
