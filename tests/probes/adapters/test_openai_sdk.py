"""OpenAI's own client reads what we write and sends what we read, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from probes.adapters.base import write_event_stream
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.messages import (
    Breakage,
    BrokenCall,
    ModelCall,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    Usage,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.loopback import Loopback

CHAT = OpenAIChatAdapter()
ASK: Any = [{"role": "user", "content": "Hi"}]
REPLY = Reply(
    (
        Reasoning("Hm.", ReasoningKind.FIELD, "reasoning_content"),
        Text("Looking."),
        ToolCall("c1", "f", {"a": 1}, "openai", '{"a":1}'),
        ToolCall("c2", "g", {"é": "😀"}, "hermes", "<x>", repairs=("fence",)),
    ),
    Stop.TOOL_CALLS,
    Usage(9, 7, 3, 4),
    id="chatcmpl-1",
    model="m",
)


@pytest.fixture
def client(loopback: Loopback) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{loopback.url}/v1", api_key="sim-1", max_retries=0) as sdk:
        yield sdk


def test_the_client_reads_a_whole_answer(loopback: Loopback, client: OpenAI) -> None:
    """Text, reasoning, parallel calls, stop and usage arrive."""
    loopback.answer_json(CHAT.write_reply(REPLY))

    completion = client.chat.completions.create(model="m", messages=ASK)

    choice = completion.choices[0]
    calls: Any = choice.message.tool_calls
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Looking.")
    assert choice.message.model_extra == {"reasoning_content": "Hm."}
    assert [(call.id, call.function.name, call.function.arguments) for call in calls] == [
        ("c1", "f", '{"a":1}'),
        ("c2", "g", '{"é": "😀"}'),
    ]
    assert completion.usage is not None
    assert completion.usage.total_tokens == 16


def test_the_client_assembles_a_streamed_answer(loopback: Loopback, client: OpenAI) -> None:
    """Its own accumulator ends with the same message."""
    loopback.answer_stream(write_event_stream(CHAT, reply_events(REPLY)))

    with client.chat.completions.stream(
        model="m", messages=ASK, stream_options={"include_usage": True}
    ) as stream:
        kinds = {event.type for event in stream}
        completion = stream.get_final_completion()

    message = completion.choices[0].message
    calls = message.tool_calls or []
    assert {"content.delta", "tool_calls.function.arguments.done"} <= kinds
    assert (completion.choices[0].finish_reason, message.content) == ("tool_calls", "Looking.")
    assert (message.model_extra or {})["reasoning_content"] == "Hm."
    assert [(call.id, call.function.arguments) for call in calls] == [
        ("c1", '{"a":1}'),
        ("c2", '{"é": "😀"}'),
    ]
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 7


def test_the_client_raises_on_an_answer_that_broke_off(loopback: Loopback, client: OpenAI) -> None:
    """A cut call never ends with a finish_reason that would run it."""
    cut = BrokenCall('{"a":', "cut", Breakage.TRUNCATED_CALL, "f", "c1")
    wire = list(write_event_stream(CHAT, reply_events(Reply((cut,), Stop.ERROR))))
    loopback.answer_stream(wire)

    stream = client.chat.completions.create(model="m", messages=ASK, stream=True)

    with pytest.raises(openai.APIError, match="broke off"):
        list(stream)
    assert b'"finish_reason": "tool_calls"' not in b"".join(wire)


def test_the_client_understands_our_errors(loopback: Loopback, client: OpenAI) -> None:
    """The status selects the class, the envelope holds the message."""
    loopback.answer_json(CHAT.write_error(400, "No such tool."), status=400)

    with pytest.raises(openai.BadRequestError, match="No such tool") as caught:
        client.chat.completions.create(model="m", messages=ASK)

    assert caught.value.type == "invalid_request_error"


def test_what_the_client_sends_is_read_and_written_again(
    loopback: Loopback, client: OpenAI
) -> None:
    """A tool conversation with an image, choice, limits and unknown fields, in both directions."""
    loopback.answer_json(CHAT.write_reply(REPLY))
    function: Any = {"name": "f", "arguments": '{"a":1}'}
    schema: Any = {"type": "object", "properties": {"a": {"type": "integer"}}}
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    sdk: Any = client
    sdk.chat.completions.create(
        model="m",
        messages=[
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Look:"}, image], "name": "ann"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
        ],
        tools=[{"type": "function", "function": {"name": "f", "parameters": schema}}],
        tool_choice={"type": "function", "function": {"name": "f"}},
        parallel_tool_calls=False,
        max_completion_tokens=99,
        temperature=0.5,
        extra_body={"thinking": {"type": "disabled"}},
    )
    body = loopback.last.body

    call = CHAT.read_request(body)

    assert CHAT.write_request(call) == body
    assert call.tool_choice == ToolChoice("named", "f")
    assert (call.max_tokens, call.parallel) == (99, False)
    assert [turn.role for turn in call.turns] == [
        Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL,
    ]  # fmt: skip
    assert call.turns[2].calls == (ToolCall("c1", "f", {"a": 1}, "openai", '{"a":1}'),)
    assert call.turns[3].results == (ToolResult("c1", "42"),)
    assert loopback.last.headers["authorization"] == "Bearer sim-1"


def test_what_the_client_sends_back_carries_the_reasoning(
    loopback: Loopback, client: OpenAI
) -> None:
    """A message that a client appends to its history reads as the same parts."""
    loopback.answer_json(CHAT.write_reply(REPLY))
    completion = client.chat.completions.create(model="m", messages=ASK)
    back: Any = completion.choices[0].message.model_dump(exclude_none=True)

    client.chat.completions.create(model="m", messages=[*ASK, back])

    call: ModelCall = CHAT.read_request(loopback.last.body)
    assert call.turns[1].parts[:3] == REPLY.parts[:3]
