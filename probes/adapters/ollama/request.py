"""Ollama's /api/chat request, both directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from probes.adapters.generation.ollama import OPTIONS
from probes.adapters.generation.options import merge_fields, read_generation, write_generation
from probes.adapters.images import media_type_of, move_result_images
from probes.adapters.json_fields import (
    MINTED,
    Notes,
    copy_object,
    count_or_none,
    keep_extra,
    list_or_empty,
    mint_id,
    own_fields,
    require_list,
    require_object,
    require_text,
    result_text,
    text_or_empty,
    text_or_none,
    unread_fields,
)
from probes.adapters.ollama.tools import (
    FORMAT,
    MAX_CALLS,
    is_minted,
    read_call,
    read_tools,
    write_call,
    write_tool,
)
from probes.adapters.tool_calls import ERROR_PREFIX
from probes.errors import WireError
from probes.messages import (
    JSON,
    NONE,
    Image,
    ModelCall,
    Part,
    Reasoning,
    ReasoningKind,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)

MAX_MESSAGES = 100_000
THINKING = "thinking"
LIMIT = "num_predict"
KNOWN = ("model", "messages", "tools", "stream", "options")
ASSISTANT_FIELDS = ("role", "content", THINKING, "tool_calls")


def write_request(call: ModelCall) -> dict[str, JSON]:
    """The body of a question."""
    own, generation = write_generation(OPTIONS, own_fields(call.extra, FORMAT), call)
    body = unread_fields(own, "options") | unread_fields(call.options, "options")
    options = copy_object(own, "options")
    if call.max_tokens is not None:
        options[LIMIT] = call.max_tokens
    if options := options | copy_object(call.options, "options"):
        body["options"] = options
    body = merge_fields(generation, body)
    calls: dict[str, ToolCall] = {}
    body["model"] = call.model
    turns = move_result_images(call.turns)
    body["messages"] = [message for turn in turns for message in _messages(turn, calls)]
    # There is no tool_choice: to forbid calls, offer no tools.
    if call.tools and call.tool_choice != NONE:
        body["tools"] = [write_tool(spec) for spec in call.tools]
    # The default is true.
    body["stream"] = call.stream
    return body


def read_request(body: JSON) -> ModelCall:
    """The question in a client's body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    messages = require_list(root.get("messages") or [], "$.messages", limit=MAX_MESSAGES)
    conversation = _Conversation()
    turns = [conversation.read(item, f"$.messages[{i}]") for i, item in enumerate(messages)]
    options = copy_object(root, "options")
    max_tokens = count_or_none(options.get(LIMIT))
    if max_tokens is not None:
        del options[LIMIT]
    more = unread_fields(root, *KNOWN) | ({"options": options} if options else {})
    return ModelCall(
        model=text_or_empty(root.get("model")),
        turns=tuple(turns),
        tools=read_tools(root.get("tools")),
        max_tokens=max_tokens,
        generation=read_generation(OPTIONS, root),
        stream=root.get("stream") is not False,
        extra=keep_extra(FORMAT, more),
    )


def read_assistant_parts(
    message: Mapping[str, JSON], path: str, notes: Notes, seed: str
) -> tuple[Part, ...]:
    """The parts of an assistant message: thinking, text, calls."""
    parts: list[Part] = []
    if isinstance(thinking := message.get(THINKING), str):
        parts.append(Reasoning(thinking, ReasoningKind.FIELD, THINKING))
    entries = require_list(message.get("tool_calls") or [], f"{path}.tool_calls", limit=MAX_CALLS)
    calls = [
        read_call(entry, f"{path}.tool_calls[{i}]", notes, f"{seed}\n{i}")
        for i, entry in enumerate(entries)
    ]
    content = text_or_none(message.get("content"))
    # The field is always present; an empty one counts only if there is nothing else.
    if content or (content is not None and not parts and not calls):
        parts.append(Text(content))
    return (*parts, *calls)


def _messages(turn: Turn, calls: dict[str, ToolCall]) -> Iterator[dict[str, JSON]]:
    calls.update((call.id, call) for call in turn.calls)
    for result in turn.results:
        yield _write_result(result, calls.get(result.call_id)) | own_fields(turn.extra, FORMAT)
    if turn.results and len(turn.results) == len(turn.parts):
        return
    text_ = "".join(part.text for part in turn.parts if isinstance(part, Text))
    role = Role.USER if turn.role is Role.TOOL else turn.role
    message: dict[str, JSON] = {"role": str(role), "content": text_}
    images: list[JSON] = [part.data for part in turn.parts if isinstance(part, Image) and part.data]
    if images and turn.role is not Role.ASSISTANT:
        message["images"] = images
    reasoning = [
        part.text
        for part in turn.parts
        if isinstance(part, Reasoning) and part.kind is ReasoningKind.FIELD
    ]
    if reasoning:
        message[THINKING] = "".join(reasoning)
    if turn.calls:
        message["tool_calls"] = [write_call(call) for call in turn.calls]
    yield message | own_fields(turn.extra, FORMAT)


def _write_result(result: ToolResult, call: ToolCall | None) -> dict[str, JSON]:
    more = own_fields(result.extra, FORMAT)
    prefix = ERROR_PREFIX if result.is_error else ""
    message: dict[str, JSON] = {"role": "tool", "content": prefix + result.content}
    if name := result.name or ("" if MINTED in more or call is None else call.name):
        message["tool_name"] = name
    # A call that was received without an id is sent without one, and so is its result.
    if MINTED not in more and (call is None or not is_minted(call)):
        message["tool_call_id"] = result.call_id
    return message | unread_fields(more, MINTED)


def _read_images(value: JSON) -> list[Image]:
    """The pictures of a message; none if the list is not one of texts."""
    texts = [text for text in list_or_empty(value) if isinstance(text, str)]
    if len(texts) < len(list_or_empty(value)):
        return []
    return [Image(media_type_of(text), text) for text in texts]


class _Conversation:
    """Reads messages in order; a result without an id answers the next open call."""

    def __init__(self) -> None:
        self._waiting: list[ToolCall] = []

    def read(self, item: JSON, path: str) -> Turn:
        message = require_object(item, path)
        match require_text(message, "role", path):
            case "assistant":
                parts = read_assistant_parts(message, path, Notes(), path)
                turn = Turn(
                    Role.ASSISTANT,
                    parts,
                    extra=keep_extra(FORMAT, unread_fields(message, *ASSISTANT_FIELDS)),
                )
                self._waiting = list(turn.calls)
                return turn
            case "tool":
                return Turn(Role.TOOL, (self._result(message, path),))
            case "user" | "system" as role:
                content = Text(text_or_empty(message.get("content")))
                images = _read_images(message.get("images"))
                known = ("role", "content", *(("images",) if images else ()))
                extra = keep_extra(FORMAT, unread_fields(message, *known))
                return Turn(Role(role), (content, *images), extra=extra)
            case _:
                raise WireError("There is no such role.", f"{path}.role")

    def _result(self, message: Mapping[str, JSON], path: str) -> ToolResult:
        name = text_or_empty(message.get("tool_name"))
        id_ = text_or_empty(message.get("tool_call_id"))
        answered = self._answered(name, id_)
        more = unread_fields(message, "role", "content", "tool_name", "tool_call_id")
        if not id_:
            more[MINTED] = True
        call_id = id_ or answered or mint_id(path, name)
        content = result_text(message.get("content"))
        return ToolResult(call_id, content, name=name, extra=keep_extra(FORMAT, more))

    def _answered(self, name: str, id_: str) -> str:
        for index, call in enumerate(self._waiting):
            if call.id == id_ or (not id_ and name in ("", call.name)):
                del self._waiting[index]
                return call.id
        return ""
