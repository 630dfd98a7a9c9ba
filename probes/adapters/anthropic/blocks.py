"""Anthropic's content blocks, to parts and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probes.adapters.images import typed_parts
from probes.adapters.json_fields import (
    Notes,
    blocks_text,
    keep_extra,
    mint_call_id,
    object_or_empty,
    own_fields,
    require_list,
    require_object,
    require_text,
    result_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import breakage_of, read_input
from probes.errors import WireError
from probes.messages import (
    JSON,
    BrokenCall,
    Image,
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
        case "image":
            return _read_image(entry)
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
        case ToolResult() | Image():
            return _write_image(part) if isinstance(part, Image) else _write_result(part)
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


def _read_image(entry: Mapping[str, JSON]) -> Image | Opaque:
    extra = keep_extra(FORMAT, unread_fields(entry, "type", "source"))
    match entry.get("source"):
        case {"type": "base64", "media_type": str(kind), "data": str(data), **more} if not more:
            return Image(kind, data, extra=extra)
        case {"type": "url", "url": str(url), **more} if not more:
            return Image(url=url, extra=extra)
        case _:
            return Opaque(FORMAT, entry)


def _write_image(image: Image) -> dict[str, JSON]:
    source: JSON = {"type": "base64", "media_type": image.media_type, "data": image.data}
    if image.url:
        source = {"type": "url", "url": image.url}
    return {"type": "image", "source": source} | own_fields(image.extra, FORMAT)


def _read_call(entry: Mapping[str, JSON], path: str, notes: Notes) -> ToolCall | BrokenCall:
    name = require_text(entry, "name", path)
    at = f"{path}.input"
    call_input = read_input(
        entry.get("input"), at, notes, error="The input of the call is not an object."
    )
    id_ = text_or_empty(entry.get("id"))
    if not id_:
        notes.note("missing_id", f"{path}.id")
        id_ = mint_call_id(notes.seed, path, name, call_input.raw)
    if call_input.value is None:
        kind = breakage_of(call_input.error)
        return BrokenCall(call_input.raw, call_input.error, kind, name, id_, at, FORMAT)
    extra = keep_extra(FORMAT, unread_fields(entry, "type", "id", "name", "input"))
    return ToolCall(id_, name, call_input.value, FORMAT, call_input.raw, extra=extra)


def _read_result(entry: Mapping[str, JSON], path: str) -> ToolResult:
    content = entry.get("content")
    blocks: tuple[JSON, ...] = ()
    parts: tuple[Text | Image, ...] = ()
    match content:
        case [{"type": "text", "text": str(only), **more}] if not more:
            content = only
        case list() | tuple():
            blocks = tuple(require_list(content, f"{path}.content", limit=MAX_BLOCKS))
            content = blocks_text(blocks, "\n")
            parts = typed_parts(list(_read_parts(blocks)))
        case _:
            pass
    return ToolResult(
        require_text(entry, "tool_use_id", path),
        result_text(content),
        entry.get("is_error") is True,
        blocks=blocks,
        extra=keep_extra(
            FORMAT, unread_fields(entry, "type", "tool_use_id", "content", "is_error")
        ),
        parts=parts,
    )


def _read_parts(blocks: tuple[JSON, ...]) -> Iterator[Part]:
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                yield Text(text)
            case {"type": "image"}:
                yield _read_image(object_or_empty(block))
            case _:
                pass


def _write_result(result: ToolResult) -> dict[str, JSON]:
    content: JSON = result.content
    if result.blocks and carries_blocks(result):
        content = list(result.blocks)
    elif result.parts:
        content = [write_block(part) for part in result.parts]
    block: dict[str, JSON] = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": content,
    }
    if result.is_error:
        block["is_error"] = True
    return block | own_fields(result.extra, FORMAT)
