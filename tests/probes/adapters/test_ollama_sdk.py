"""The official SDK as the reference: it reads what we write, and we read what it sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ollama
import pytest

from probes.adapters.base import write_event_stream
from probes.adapters.ollama.adapter import OllamaAdapter
from probes.messages import (
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.loopback import Loopback

ADAPTER = OllamaAdapter()
REPLY = Reply(
    parts=(
        Reasoning("hm", ReasoningKind.FIELD, "thinking"),
        Text("Grüße 🌍"),
        ToolCall("call_1", "f", {"a": [1, "ü"]}, "ollama", '{"a": [1, "ü"]}'),
        ToolCall("call_2", "g", {}, "ollama", "{}"),
    ),
    stop=Stop.TOOL_CALLS,
    usage=Usage(9, 7),
    model="m",
)
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "f",
        "description": "does",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}},
    },
}
GO: Any = {"role": "user", "content": "go"}


@pytest.fixture
def sdk(loopback: Loopback) -> Iterator[ollama.Client]:
    client = ollama.Client(host=loopback.url)
    yield client
    client._client.close()


def test_the_sdk_reads_a_whole_answer(sdk: ollama.Client, loopback: Loopback) -> None:
    """Thinking, text and parallel calls arrive as the SDK's own message."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))

    response = sdk.chat("m", [GO], tools=[TOOL])

    message = response.message
    assert (message.thinking, message.content) == ("hm", "Grüße 🌍")
    calls = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
    assert calls == [("f", {"a": [1, "ü"]}), ("g", {})]
    assert (response.done, response.done_reason, response.eval_count) == (True, "stop", 7)


def test_the_sdk_reads_our_stream(sdk: ollama.Client, loopback: Loopback) -> None:
    """Line by line, the SDK gets the content of the whole answer."""
    loopback.answer_stream(write_event_stream(ADAPTER, reply_events(REPLY)), "application/x-ndjson")

    chunks = list(sdk.chat("m", [GO], stream=True))

    assert "".join(chunk.message.thinking or "" for chunk in chunks) == "hm"
    assert "".join(chunk.message.content or "" for chunk in chunks) == "Grüße 🌍"
    names = [call.function.name for chunk in chunks for call in chunk.message.tool_calls or ()]
    assert names == ["f", "g"]
    assert [chunk.done for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_the_sdk_raises_when_our_stream_breaks_off(sdk: ollama.Client, loopback: Loopback) -> None:
    """A failed answer does not look complete to a client."""
    data = write_event_stream(ADAPTER, reply_events(Reply((Text("half"),), Stop.ERROR)))
    loopback.answer_stream(data, "application/x-ndjson")

    with pytest.raises(ollama.ResponseError):
        list(sdk.chat("m", [GO], stream=True))


def test_the_sdk_reads_our_errors(sdk: ollama.Client, loopback: Loopback) -> None:
    """Our errors carry the message where the SDK looks for it."""
    loopback.answer_json(ADAPTER.write_error(404, "no such model"), status=404)

    with pytest.raises(ollama.ResponseError, match="no such model"):
        sdk.chat("m", [GO])


def test_we_read_what_the_sdk_sends(sdk: ollama.Client, loopback: Loopback) -> None:
    """The SDK drops the ids; results still match their calls, and nothing else is lost."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))
    message = sdk.chat("m", [GO]).message
    results: Any = [
        {"role": "tool", "tool_name": "f", "content": "one"},
        {"role": "tool", "tool_name": "g", "content": "two"},
    ]
    sdk.chat(
        "m",
        [GO, message, *results],
        tools=[TOOL],
        think=True,
        options={"num_predict": 5, "temperature": 0.5},
        keep_alive="5m",
    )

    body = loopback.last.body
    call = ADAPTER.read_request(body)

    assert loopback.last.path == ADAPTER.path
    assert [turn.role for turn in call.turns] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.TOOL,
    ]
    turn = call.turns[1]
    assert turn.parts[:2] == REPLY.parts[:2]
    assert [(one.name, one.input) for one in turn.calls] == [("f", {"a": [1, "ü"]}), ("g", {})]
    answered_ids = [result.call_id for later in call.turns[2:] for result in later.results]
    assert answered_ids == [one.id for one in turn.calls]
    assert call.max_tokens == 5
    assert call.tools[0].schema == TOOL["function"]["parameters"]
    assert ADAPTER.write_request(call) == body
