"""Anthropic's request body, both directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from probes.adapters.anthropic.blocks import FORMAT, read_blocks, write_block
from probes.adapters.anthropic.tools import read_choice, read_tools, write_choice, write_tools
from probes.adapters.generation.anthropic import OPTIONS
from probes.adapters.generation.options import merge_fields, read_generation, write_generation
from probes.adapters.json_fields import (
    Notes,
    count_or_none,
    keep_extra,
    own_fields,
    require_list,
    require_object,
    require_text,
    text_or_empty,
    unread_fields,
)
from probes.adapters.tool_calls import unwritten_calls, user_turns
from probes.errors import WireError
from probes.messages import JSON, Image, ModelCall, Role, ToolResult, Turn

# The format requires a limit; every model accepts this one.
DEFAULT_MAX_TOKENS = 4096
MAX_MESSAGES = 100_000
ROLES = {
    Role.SYSTEM: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL: "user",
}
KNOWN = ("model", "max_tokens", "system", "messages", "tools", "tool_choice", "stream")
# A message with a copy of its calls in this field of another format would send them twice.
DUPLICATE_CALLS = "tool_calls"


def write_request(call: ModelCall) -> dict[str, JSON]:
    """The body of a question."""
    max_tokens = DEFAULT_MAX_TOKENS if call.max_tokens is None else call.max_tokens
    own = unread_fields(own_fields(call.extra, FORMAT), "tool_choice")
    own, generation = write_generation(OPTIONS, own, call)
    body = merge_fields(generation, own | {"max_tokens": max_tokens} | dict(call.options))
    body["model"] = call.model
    leading = list(takewhile(lambda turn: turn.role is Role.SYSTEM, call.turns))
    if system := [block for turn in leading for block in _blocks(turn, set())]:
        body["system"] = _content(system)
    body["messages"] = _messages(call.turns[len(leading) :])
    if tools := write_tools(call):
        body["tools"] = tools
        body |= write_choice(call)
    if call.stream:
        body["stream"] = True
    return body


def read_request(body: JSON) -> ModelCall:
    """The question in a client's body; raises WireError with the invalid path."""
    root = require_object(body, "$")
    notes = Notes()
    turns: list[Turn] = []
    if root.get("system") is not None:
        turns.append(Turn(Role.SYSTEM, read_blocks(root["system"], "$.system", notes)))
    for index, item in enumerate(
        require_list(root.get("messages"), "$.messages", limit=MAX_MESSAGES)
    ):
        turns += _read_message(item, f"$.messages[{index}]", notes)
    tools, vendor_tools = read_tools(root.get("tools"))
    choice, parallel, choice_rest = read_choice(root.get("tool_choice"))
    return ModelCall(
        model=text_or_empty(root.get("model")),
        turns=tuple(turns),
        tools=tools,
        max_tokens=count_or_none(root.get("max_tokens")),
        tool_choice=choice,
        parallel=parallel,
        generation=read_generation(OPTIONS, root),
        stream=root.get("stream") is True,
        extra=keep_extra(FORMAT, unread_fields(root, *KNOWN) | choice_rest),
        vendor_tools=vendor_tools,
    )


@dataclass(slots=True)
class _Message:
    role: str
    blocks: list[dict[str, JSON]] = field(default_factory=list)
    extra: dict[str, JSON] = field(default_factory=dict)


def _messages(turns: Sequence[Turn]) -> list[JSON]:
    unwritten = unwritten_calls(turns)
    messages: list[_Message] = []
    for turn in turns:
        blocks = list(_blocks(turn, unwritten))
        if not blocks:
            continue
        role = ROLES[turn.role]
        # All results of one step must be in one message, so turns of one role are merged.
        if not messages or messages[-1].role != role or role == "system":
            messages.append(_Message(role))
        messages[-1].blocks += blocks
        messages[-1].extra |= unread_fields(own_fields(turn.extra, FORMAT), DUPLICATE_CALLS)
    return [_write_message(message) for message in messages]


def _write_message(message: _Message) -> dict[str, JSON]:
    blocks = message.blocks
    if message.role == "user":
        blocks = sorted(blocks, key=lambda block: block["type"] != "tool_result")
    return {"role": message.role, "content": _content(blocks)} | message.extra


def _content(blocks: Sequence[dict[str, JSON]]) -> JSON:
    # Empty text blocks are refused, so drop them beside others.
    non_empty = [block for block in blocks if block.get("text") != "" or block["type"] != "text"]
    match non_empty or blocks[:1]:
        case [{"type": "text", "text": str(only), **more}] if not more:
            return only
        case some:
            return list(some)


def _blocks(turn: Turn, unwritten: set[str]) -> Iterator[dict[str, JSON]]:
    for part in turn.parts:
        if isinstance(part, ToolResult) and part.call_id in unwritten:
            continue
        if isinstance(part, Image) and turn.role is Role.ASSISTANT:
            continue
        if (block := write_block(part)) is not None:
            yield block


def _read_message(item: JSON, path: str, notes: Notes) -> list[Turn]:
    message = require_object(item, path)
    parts = read_blocks(message.get("content"), f"{path}.content", notes)
    extra = keep_extra(FORMAT, unread_fields(message, "role", "content"))
    match require_text(message, "role", path):
        case "user":
            return user_turns(parts, extra)
        case "assistant":
            return [Turn(Role.ASSISTANT, parts, extra=extra)]
        case "system":
            return [Turn(Role.SYSTEM, parts, extra=extra)]
        case role:
            raise WireError(f"There is no role {role[:40]!r}.", f"{path}.role")
