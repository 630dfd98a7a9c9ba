"""Writes requests and answers of Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from probes.adapters.generation.openai_chat import OPTIONS
from probes.adapters.generation.options import merge_fields, write_generation
from probes.adapters.images import move_result_images, write_image_url
from probes.adapters.json_fields import list_or_empty, own_inner_fields, own_outer_fields
from probes.adapters.openai_chat.assistant_message import FORMAT, REASONING_FIELDS
from probes.adapters.openai_chat.reply import STOPS, read_usage, write_usage
from probes.adapters.openai_chat.request import read_choice
from probes.adapters.openai_chat.tools import is_plain, write_custom, write_function
from probes.adapters.tool_calls import (
    custom_text,
    flagged_text,
    insert_vendor_tools,
    is_native,
    sent_choice,
)
from probes.call_arguments import call_argument_text
from probes.events import NO_HEAD, ReplyHead
from probes.messages import (
    JSON,
    BrokenCall,
    ClientTool,
    Image,
    ModelCall,
    Opaque,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)
from probes.streams.assembler import text_label

FINISHES = {Stop.LENGTH: "length", Stop.REFUSAL: "content_filter", Stop.ERROR: "error"}
DEFAULT_FIELD = REASONING_FIELDS[0]
TEXTS = ("text",)


def write_request(call: ModelCall) -> dict[str, JSON]:
    """The request body for a question."""
    own, generation = write_generation(OPTIONS, own_outer_fields(call.extra, FORMAT), call)
    body = merge_fields(generation, {"max_tokens": call.max_tokens, **call.options, **own})
    # The newer name of the same limit; OpenAI refuses a request with both.
    if "max_completion_tokens" in body:
        body["max_completion_tokens"] = _newer_limit(call, own)
        if "max_tokens" not in own:
            del body["max_tokens"]
    elif body["max_tokens"] is None:
        del body["max_tokens"]
    body["model"] = call.model
    turns = move_result_images(call.turns, carries_blocks)
    body["messages"] = [message for turn in turns for message in _messages(turn)]
    if tools := insert_vendor_tools([_tool(spec) for spec in call.tools], call, FORMAT):
        body["tools"] = tools
    choice = sent_choice(call, FORMAT)
    if choice != read_choice(own.get("tool_choice")):
        body.pop("tool_choice", None)
        body |= {"tool_choice": _choice(choice, call)} if choice is not None else {}
    if call.parallel is not None:
        body["parallel_tool_calls"] = call.parallel
    if call.stream:
        body["stream"] = True
    return body


def write_reply(reply: Reply, head: ReplyHead = NO_HEAD) -> dict[str, JSON]:
    """The body that answers a client. Broken calls are dropped."""
    reply = head.apply(reply)
    parts = [part for part in reply.parts if not isinstance(part, BrokenCall)]
    message: dict[str, JSON] = {
        "role": "assistant",
        **_assistant(parts, foreign=True),
        **own_inner_fields(reply.extra, FORMAT, "message"),
    }
    choice: dict[str, JSON] = {
        "index": 0,
        "message": message,
        "finish_reason": finish_reason(reply),
        **own_inner_fields(reply.extra, FORMAT, "choice"),
    }
    body: dict[str, JSON] = {
        **reply_head(reply, "chat.completion", head.created),
        "choices": [choice],
    }
    if usage := reply_usage(reply):
        body["usage"] = usage
    return body


def reply_head(reply: Reply, kind: str, created: int = 0) -> dict[str, JSON]:
    """The fields of an answer beside its choices."""
    body: dict[str, JSON] = {
        "id": reply.id,
        "object": kind,
        "created": created,
        "model": reply.model or "",
        **own_outer_fields(reply.extra, FORMAT),
    }
    if reply.fingerprint is not None:
        body["system_fingerprint"] = reply.fingerprint
    return body


def reply_usage(reply: Reply) -> dict[str, JSON]:
    """The usage as received, if it still matches the reply."""
    own_usage = own_inner_fields(reply.extra, FORMAT, "usage")
    if own_usage and read_usage(own_usage) == reply.usage:
        return own_usage
    return write_usage(reply.usage) if reply.usage != Usage() else {}


def finish_reason(reply: Reply) -> str:
    """The finish reason; the endpoint's own if it means the same."""
    # Only calls that are sent may make a client act.
    if reply.stop is Stop.TOOL_CALLS:
        return "tool_calls" if reply.calls else "stop"
    if reply.stop_raw and STOPS.get(reply.stop_raw, Stop.OTHER) is reply.stop:
        return reply.stop_raw
    return FINISHES.get(reply.stop, "stop")


def write_call(call: ToolCall | BrokenCall) -> dict[str, JSON]:
    """An entry of tool_calls."""
    if isinstance(call, ToolCall) and call.client_tool is not None and is_native(call, FORMAT):
        return _custom_call(call, call.client_tool)
    extra = call.extra if isinstance(call, ToolCall) else {}
    function: dict[str, JSON] = {
        "name": call.name,
        "arguments": call_argument_text(call),
        **own_inner_fields(extra, FORMAT, "function"),
    }
    return {
        "id": call.id,
        "type": "function",
        "function": function,
        **own_outer_fields(extra, FORMAT),
    }


def _custom_call(call: ToolCall, tool: ClientTool) -> dict[str, JSON]:
    custom: dict[str, JSON] = {
        "name": tool.name,
        "input": custom_text(call),
        **own_inner_fields(call.extra, FORMAT, "custom"),
    }
    own = own_outer_fields(call.extra, FORMAT)
    return {"id": call.id, "type": "custom", "custom": custom, **own}


def reasoning_name(part: Reasoning) -> str:
    """The field for a reasoning string."""
    if part.kind is ReasoningKind.FIELD and part.raw in REASONING_FIELDS:
        return str(part.raw)
    return DEFAULT_FIELD


def carries_blocks(result: ToolResult) -> bool:
    """Whether a result's blocks are sent unchanged."""
    if not result.blocks:
        return False
    own = not result.is_error and all(map(_is_own_block, result.blocks))
    return own or "content" in own_outer_fields(result.extra, FORMAT)


def _is_own_block(block: JSON) -> bool:
    match block:
        case {"type": "image_url", "image_url": Mapping(), **more}:
            return not more
        case _:
            return is_plain(block, TEXTS)


def _newer_limit(call: ModelCall, own: Mapping[str, JSON]) -> JSON:
    if "max_completion_tokens" in own:
        return call.max_tokens
    return call.options["max_completion_tokens"]


def _messages(turn: Turn) -> Iterator[dict[str, JSON]]:
    results = turn.results
    for result in results:
        yield _result(result)
    parts = [part for part in turn.parts if not isinstance(part, ToolResult)]
    if results and not parts:
        return
    own = own_outer_fields(turn.extra, FORMAT)
    role = own.pop("role", str(turn.role if turn.role is not Role.TOOL else Role.USER))
    if turn.role is Role.ASSISTANT:
        sendable = [part for part in parts if not _is_unsendable(part)]
        yield {"role": role, **_assistant(sendable, foreign=False), **own}
    elif not parts or any(_is_content(part) for part in parts):
        yield {"role": role, "content": _content(parts), **own}


def _is_unsendable(part: Part) -> bool:
    # A result can answer a broken call only by its id; without a name no endpoint accepts it.
    return isinstance(part, BrokenCall) and not (part.id and part.name)


def _result(result: ToolResult) -> dict[str, JSON]:
    body: dict[str, JSON] = {"role": "tool", "tool_call_id": result.call_id}
    body["content"] = [*result.blocks] if carries_blocks(result) else flagged_text(result)
    return {**body, **own_outer_fields(result.extra, FORMAT)}


def _assistant(parts: Sequence[Part], *, foreign: bool) -> dict[str, JSON]:
    """Content, reasoning and calls; `foreign` writes reasoning of other formats as plain text."""
    content = [part for part in parts if _is_content(part) and not (foreign and _is_tagged(part))]
    content = [part for part in content if not isinstance(part, Image)]
    calls: list[JSON] = []
    for part in parts:
        if isinstance(part, ToolCall | BrokenCall):
            calls.append(write_call(part))
    refusals = [part.text for part in parts if isinstance(part, Text) and text_label(part)]
    body: dict[str, JSON] = {"content": _content(content, join=True) if content else None}
    if not content and not calls and not refusals:
        body["content"] = ""
    if refusals:
        body["refusal"] = "".join(refusals)
    body |= _reasoning(parts, foreign=foreign)
    return {**body, "tool_calls": calls} if calls else body


def _is_content(part: Part) -> bool:
    match part:
        case Text():
            return not text_label(part)
        case Image():
            return True
        case Opaque():
            return part.format == FORMAT
        case _:
            return _is_tagged(part)


def _is_tagged(part: Part) -> bool:
    """Whether reasoning was between tags in the content, and is written back there."""
    return isinstance(part, Reasoning) and part.kind is ReasoningKind.TAGS


def _content(parts: Sequence[Part], *, join: bool = False) -> JSON:
    """A string if the parts are plain; a list if one of them needs its own fields."""
    written = [item for part in parts if (item := _content_part(part)) is not None]
    plain = all(set(item) == {"type", "text"} and item["type"] == "text" for item in written)
    if plain and (join or len(written) < 2):
        return "".join(str(item["text"]) for item in written)
    return [*written]


def _content_part(part: Part) -> Mapping[str, JSON] | None:
    match part:
        case Text():
            return {"type": "text", "text": part.text, **own_outer_fields(part.extra, FORMAT)}
        case Image():
            inner = own_inner_fields(part.extra, FORMAT, "image_url")
            address: dict[str, JSON] = {"url": write_image_url(part), **inner}
            own = own_outer_fields(part.extra, FORMAT)
            return {"type": "image_url", "image_url": address, **own}
        case Opaque(raw=Mapping() as raw) if part.format == FORMAT:
            return raw
        case Reasoning(kind=ReasoningKind.TAGS):
            return {"type": "text", "text": part.raw if isinstance(part.raw, str) else part.text}
        case _:
            return None


def _reasoning(parts: Sequence[Part], *, foreign: bool) -> dict[str, JSON]:
    fields: dict[str, list[str]] = {}
    body: dict[str, JSON] = {}
    for part in parts:
        if not isinstance(part, Reasoning):
            continue
        if part.kind is ReasoningKind.DETAILS:
            body["reasoning_details"] = [
                *list_or_empty(body.get("reasoning_details")),
                *list_or_empty(part.raw),
            ]
        elif part.kind is ReasoningKind.FIELD or (foreign and part.text):
            fields.setdefault(reasoning_name(part), []).append(part.text)
    return body | {name: "".join(texts) for name, texts in fields.items()}


def _tool(spec: ToolSpec) -> dict[str, JSON]:
    if is_native(spec, FORMAT):
        custom = write_custom(spec) | own_inner_fields(spec.extra, FORMAT, "custom")
        return {"type": "custom", "custom": custom, **own_outer_fields(spec.extra, FORMAT)}
    function = write_function(spec) | own_inner_fields(spec.extra, FORMAT, "function")
    return {"type": "function", "function": function, **own_outer_fields(spec.extra, FORMAT)}


def _choice(choice: ToolChoice, call: ModelCall) -> JSON:
    custom = {spec.name for spec in call.tools if is_native(spec, FORMAT)}
    if choice.mode == "named":
        return _chosen(choice.name, custom)
    if choice.names:
        tools = [_chosen(name, custom) for name in choice.names]
        return {"type": "allowed_tools", "allowed_tools": {"mode": choice.mode, "tools": tools}}
    return choice.mode


def _chosen(name: str, custom: set[str]) -> dict[str, JSON]:
    kind = "custom" if name in custom else "function"
    return {"type": kind, kind: {"name": name}}
