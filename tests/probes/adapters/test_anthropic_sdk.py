"""The official SDK as the reference: it reads what we write, and we read what it sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from probes.adapters.anthropic.adapter import AnthropicAdapter
from probes.adapters.anthropic.stream_writer import AnthropicStreamWriter
from probes.events import ReplyHead
from probes.messages import (
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
    Usage,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.loopback import Loopback

ADAPTER = AnthropicAdapter()
THINKING: Any = {"type": "thinking", "thinking": "hm", "signature": "S=="}
REDACTED: Any = {"type": "redacted_thinking", "data": "xyz"}
REPLY = Reply(
    parts=(
        Reasoning("hm", ReasoningKind.BLOCK, THINKING),
        Reasoning("", ReasoningKind.BLOCK, REDACTED),
        Text("Grüße 🌍"),
        ToolCall("toolu_1", "f", {"a": [1, {"b": "ü"}]}, "anthropic", '{"a": [1, {"b": "ü"}]}'),
        ToolCall("toolu_2", "g", {}, "anthropic", "{}"),
    ),
    stop=Stop.TOOL_CALLS,
    usage=Usage(9, 7),
    id="msg_1",
    model="m",
)
SEEN: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "hm", "signature": "S=="},
    {"type": "redacted_thinking", "data": "xyz"},
    {"type": "text", "text": "Grüße 🌍"},
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1, {"b": "ü"}]}},
    {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
]
TOOL: Any = {"name": "f", "description": "does", "input_schema": {"type": "object"}}
HISTORY: Any = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": SEEN},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": True},
            {"type": "text", "text": "and?"},
        ],
    },
]


@pytest.fixture
def sdk(loopback: Loopback) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=loopback.url, api_key="k", max_retries=0) as client:
        yield client


def ask(sdk: anthropic.Anthropic, **over: Any) -> Any:
    call: Any = {"model": "m", "max_tokens": 5, "messages": HISTORY, "tools": [TOOL], **over}
    return sdk.messages.create(**call)


def test_the_sdk_reads_a_whole_answer(sdk: anthropic.Anthropic, loopback: Loopback) -> None:
    """Thinking, text and parallel calls arrive as the SDK's own blocks."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))

    message = ask(sdk)

    assert [block.to_dict() for block in message.content] == SEEN
    assert (message.stop_reason, message.id, message.model) == ("tool_use", "msg_1", "m")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 7)


def test_the_sdk_assembles_our_stream(sdk: anthropic.Anthropic, loopback: Loopback) -> None:
    """The SDK's accumulator ends with the same message as the unstreamed answer."""
    writer = AnthropicStreamWriter(ReplyHead("msg_1", "m"))
    loopback.answer_stream([writer.write(event) for event in reply_events(REPLY)])

    with sdk.messages.stream(model="m", max_tokens=5, messages=HISTORY) as stream:
        texts = list(stream.text_stream)
        message = stream.get_final_message()

    assert "".join(texts) == "Grüße 🌍"
    assert [block.to_dict() for block in message.content] == SEEN
    assert (message.stop_reason, message.id) == ("tool_use", "msg_1")
    assert (message.usage.input_tokens, message.usage.output_tokens) == (9, 7)


def test_the_sdk_raises_when_our_stream_breaks_off(
    sdk: anthropic.Anthropic, loopback: Loopback
) -> None:
    """A failed answer does not look complete to a client."""
    writer = ADAPTER.write_stream()
    events = reply_events(Reply((Text("half"),), Stop.ERROR))
    loopback.answer_stream([writer.write(event) for event in events])

    with (
        pytest.raises(anthropic.APIStatusError),
        sdk.messages.stream(model="m", max_tokens=5, messages=HISTORY) as stream,
    ):
        stream.get_final_message()


def test_the_sdk_reads_our_errors(sdk: anthropic.Anthropic, loopback: Loopback) -> None:
    """Our errors carry the message where the SDK looks for it."""
    loopback.answer_json(ADAPTER.write_error(400, "no such tool"), status=400)

    with pytest.raises(anthropic.BadRequestError, match="no such tool"):
        ask(sdk)


def test_we_read_what_the_sdk_sends(sdk: anthropic.Anthropic, loopback: Loopback) -> None:
    """A conversation with thinking, parallel calls and an error result is read."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))
    choice = {"type": "any", "disable_parallel_tool_use": True}
    system = [{"type": "text", "text": "brief", "cache_control": {"type": "ephemeral"}}]
    ask(sdk, system=system, tool_choice=choice, metadata={"user_id": "u"})

    call = ADAPTER.read_request(loopback.last.body)

    assert loopback.last.path == ADAPTER.path
    assert "anthropic-version" in loopback.last.headers
    assert [turn.role for turn in call.turns] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.USER,
    ]
    assert call.turns[2].parts == REPLY.parts
    assert call.turns[3].results == (
        ToolResult("toolu_1", "one"),
        ToolResult("toolu_2", "no", is_error=True),
    )
    assert call.tools == (ToolSpec("f", "does", {"type": "object"}),)
    assert (call.tool_choice, call.parallel) == (ToolChoice("required"), False)
    assert ADAPTER.write_request(call) == loopback.last.body


def test_an_answer_that_the_sdk_sends_back_is_the_same_turn(
    sdk: anthropic.Anthropic, loopback: Loopback
) -> None:
    """A message that a client appends to its history reads as the same parts."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))
    message = ask(sdk)
    ask(sdk, messages=[{"role": "user", "content": "go"}, message.to_param()])

    call = ADAPTER.read_request(loopback.last.body)

    assert call.turns[1].parts == REPLY.parts
