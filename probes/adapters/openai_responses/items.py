"""Items of the Responses API as parts, and parts as items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from probes.adapters.images import read_image_url, write_image_url
from probes.adapters.json_fields import (
    join_levels,
    keep_extra,
    list_or_empty,
    mint_call_id,
    mint_id,
    object_or_empty,
    own_inner_fields,
    own_outer_fields,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import (
    NAMELESS,
    as_broken,
    as_cut_off,
    custom_call,
    custom_text,
    is_native,
    read_call,
)
from probes.call_arguments import call_argument_text
from probes.messages import (
    JSON,
    Breakage,
    BrokenCall,
    ClientTool,
    Extra,
    Image,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Text,
    ToolCall,
)
from probes.streams.assembler import text_item, text_label

FORMAT = "openai_responses"
UNFINISHED = "The call is marked as incomplete."
REFUSAL = "refusal"
TEXTS = frozenset({"input_text", "output_text", "text"})
_KNOWN_MESSAGE = ("type", "role", "content")
_KNOWN_CALL = ("type", "call_id", "name", "namespace", "arguments")
_KNOWN_CUSTOM = ("type", "call_id", "name", "namespace", "input")


def item_parts(item: JSON, path: str, seed: str = "") -> list[Part]:
    """The parts of one item. Uninterpreted items are kept whole."""
    fields = object_or_empty(item)
    match fields.get("type"):
        case "message":
            return [*message_parts(fields)]
        case "function_call":
            return [call_part(fields, path, seed)]
        case "custom_tool_call" if isinstance(fields.get("name"), str):
            return [custom_part(fields, path, seed)]
        case "reasoning":
            return [Reasoning(reasoning_text(fields), ReasoningKind.ITEM, fields)]
        case _:
            return [Opaque(FORMAT, item)]


def message_parts(item: Mapping[str, JSON]) -> list[Text | Image | Opaque]:
    """The content of a message; each text keeps the fields of its item."""
    own = unread_fields(item, *_KNOWN_MESSAGE)
    content = item.get("content")
    if isinstance(content, str):
        return [Text(content, keep_extra(FORMAT, join_levels({}, item=own)))]
    return [_content_part(part, own) for part in list_or_empty(content)]


def call_part(item: Mapping[str, JSON], path: str, seed: str) -> ToolCall | BrokenCall:
    """A function_call item; results are paired by its call_id, never by its id."""
    name, raw = text_or_empty(item.get("name")), text_or_empty(item.get("arguments"))
    id_ = text_or_empty(item.get("call_id")) or mint_call_id(seed, path, name, raw)
    extra = keep_extra(FORMAT, unread_fields(item, *_KNOWN_CALL))
    declared = _declared(item, custom=False)
    flat = flat_name(declared.namespace, name) if declared.namespace else name
    call = ToolCall(id_, flat, {}, FORMAT, raw, extra=extra)
    call = replace(call, client_tool=declared) if declared.namespace else call
    if not name:
        return as_broken(call, NAMELESS, Breakage.UNKNOWN_TOOL, f"{path}.name")
    if item.get("status") == "incomplete":
        return as_cut_off(call, f"{path}.arguments", UNFINISHED)
    return read_call(call, f"{path}.arguments")[0]


def custom_part(item: Mapping[str, JSON], path: str, seed: str) -> ToolCall | BrokenCall:
    """A custom_tool_call item, whose input is free text."""
    declared, text = _declared(item, custom=True), item.get("input")
    name = flat_name(declared.namespace, declared.name) if declared.namespace else declared.name
    id_ = text_or_empty(item.get("call_id"))
    id_ = id_ or mint_call_id(seed, path, name, text_or_empty(text))
    extra = keep_extra(FORMAT, unread_fields(item, *_KNOWN_CUSTOM))
    call = custom_call(text_or_empty(text), id=id_, name=name, client_tool=declared, extra=extra)
    if not isinstance(text, str) or item.get("status") == "incomplete":
        return as_cut_off(call, f"{path}.input", UNFINISHED)
    return call


def flat_name(namespace: str, name: str) -> str:
    """A tool's name with that of its namespace, for formats without namespaces."""
    return f"{namespace}__{name}"


def _declared(item: Mapping[str, JSON], *, custom: bool) -> ClientTool:
    name, namespace = (text_or_empty(item.get(key)) for key in ("name", "namespace"))
    return ClientTool(FORMAT, name, namespace, custom)


def reasoning_text(item: Mapping[str, JSON]) -> str:
    """The readable text of a reasoning item."""
    entries = [*list_or_empty(item.get("summary")), *list_or_empty(item.get("content"))]
    return "".join(text_or_empty(object_or_empty(entry).get("text")) for entry in entries)


def write_items(parts: Sequence[Part], *, seed: str | None = None, first: int = 0) -> list[JSON]:
    """The items for an assistant's parts.

    With a seed they are for an answer: ids, states and foreign reasoning are filled in, and broken
    calls are dropped. Without one they are for a history, with as few fields as possible.
    """
    items: list[JSON] = []
    for (kind, _), group in groupby(
        enumerate(parts, first), key=lambda entry: _group(entry[0], entry[1], seed)
    ):
        run = list(group)
        index, part = run[0]
        if kind == "text":
            items.append(_message([part for _, part in run], index, seed))
        else:
            items += _item(part, index, seed)
    return items


def item_id(prefix: str, index: int, seed: str) -> str:
    """A deterministic id for an item without one, by its position in the answer."""
    return mint_id(f"{seed}/{index}", prefix=prefix)


def write_text(part: Part, *, role: str = "assistant", full: bool = False) -> dict[str, JSON]:
    """One entry of a message's content."""
    if isinstance(part, Opaque):
        return dict(object_or_empty(part.raw))
    if isinstance(part, Image):
        return write_image(part)
    if isinstance(part, Reasoning):
        return {"type": "output_text", "text": str(part.raw)}
    assert isinstance(part, Text)
    own = own_outer_fields(part.extra, FORMAT)
    if text_label(part):
        return {"type": REFUSAL, "refusal": part.text, **unread_fields(own, "type")}
    kind = "output_text" if role == "assistant" else "input_text"
    blank: dict[str, JSON] = {"annotations": []} if full else {}
    return {"type": kind, "text": part.text, **blank, **own}


def write_image(image: Image) -> dict[str, JSON]:
    """A picture in a message or a result."""
    own = own_outer_fields(image.extra, FORMAT)
    # Required in a message by the SDK's types, though not by the API.
    detail: dict[str, JSON] = {} if FORMAT in image.extra else {"detail": "auto"}
    return {"type": "input_image", "image_url": write_image_url(image), **detail, **own}


def write_call(call: ToolCall | BrokenCall, extra: Extra) -> dict[str, JSON]:
    """A function_call item, or the item that the call's tool was declared for."""
    own = own_outer_fields(extra, FORMAT)
    if isinstance(call, ToolCall) and call.client_tool is not None and is_native(call, FORMAT):
        return _write_declared(call, call.client_tool) | own
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": call_argument_text(call),
        **own,
    }


def _write_declared(call: ToolCall, tool: ClientTool) -> dict[str, JSON]:
    item: dict[str, JSON] = {"call_id": call.id, "name": tool.name}
    if tool.namespace:
        item["namespace"] = tool.namespace
    if tool.custom:
        return {"type": "custom_tool_call", **item, "input": custom_text(call)}
    return {"type": "function_call", **item, "arguments": call_argument_text(call)}


def _content_part(part: JSON, item: Mapping[str, JSON]) -> Text | Image | Opaque:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            own = unread_fields(object_or_empty(part), "type", "text")
            # The lists that every text of an answer has, mostly empty.
            own = {key: value for key, value in own.items() if value != []}
            return Text(text, keep_extra(FORMAT, join_levels(own, item=dict(item))))
        case {"type": "refusal", "refusal": str(text)}:
            own = unread_fields(object_or_empty(part), "refusal")
            return Text(text, keep_extra(FORMAT, join_levels(own, item=dict(item))))
        case {"type": "input_image", "image_url": str(url)}:
            own = unread_fields(object_or_empty(part), "type", "image_url")
            return read_image_url(url, {FORMAT: own})
        case _:
            return Opaque(FORMAT, part)


def _group(index: int, part: Part, seed: str | None) -> tuple[str, JSON]:
    """Texts of one item form a group; every other part is its own group."""
    match part:
        case Text():
            return "text", text_item(part) or str(own_inner_fields(part.extra, FORMAT, "item"))
        case Reasoning(kind=ReasoningKind.TAGS, raw=str()) if seed is None:
            return "text", "{}"
        case _:
            return "item", index


def _message(parts: Sequence[Part], index: int, seed: str | None) -> dict[str, JSON]:
    first = parts[0]
    own = own_inner_fields(first.extra, FORMAT, "item") if isinstance(first, Text) else {}
    content = [write_text(part, full=seed is not None) for part in parts]
    body: dict[str, JSON] = {"type": "message", "role": "assistant", "content": content}
    if seed is not None:
        body |= {"id": item_id("msg", index, seed), "status": "completed"}
    elif "id" not in own and len(content) == 1 and set(content[0]) == {"type", "text"}:
        body["content"] = content[0]["text"]
    return body | own


def _item(part: Part, index: int, seed: str | None) -> Iterator[JSON]:
    match part:
        case ToolCall() if seed is not None:
            prefix = "ctc" if part.client_tool and part.client_tool.custom else "fc"
            head: dict[str, JSON] = {"id": item_id(prefix, index, seed), "status": "completed"}
            yield {**head, **write_call(part, part.extra)}
        case ToolCall():
            yield write_call(part, part.extra)
        case BrokenCall() if seed is None and part.id and part.name:
            yield write_call(part, {})
        case Reasoning(kind=ReasoningKind.ITEM):
            yield part.raw
        case Reasoning() if seed is not None and part.text:
            yield reasoning_item(item_id("rs", index, seed), part.text)
        case Opaque() if part.format == FORMAT:
            yield part.raw
        case _:
            return


def reasoning_item(id_: str, text: str) -> dict[str, JSON]:
    """A reasoning item with only a text."""
    content: list[JSON] = [{"type": "reasoning_text", "text": text}]
    return {"type": "reasoning", "id": id_, "summary": [], "content": content}
