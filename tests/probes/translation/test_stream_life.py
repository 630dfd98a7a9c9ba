"""A stream from its first byte: its id and model, its signs of life, and its usage."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.adapters.base import write_event_stream
from probes.events import Event, PartDelta, PartEnded, ReplyEnded, ReplyHead, ReplyStarted
from probes.messages import Reply, Stop, Text, ToolCall, Usage
from probes.streams.assembler import reply_events
from probes.translate import translate_stream
from tests.probes.adapters.wire_bodies import deviation_names, read_events, read_stream

PAIRS = list(product(sorted(FORMATS), repeat=2))
CALL = ToolCall("c1", "f", {"a": 1}, "", '{"a": 1}')
REPLY = Reply(
    (Text("Hello."), CALL), Stop.TOOL_CALLS, Usage(9, 7), id="upstream_1", model="upstream-model"
)
HEAD = ReplyHead("ours_1", "their-model", created=1_800_000_000, input_tokens=42)
# What a client of each format is told between two pieces of an answer.
BEATS = {
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n',
    "openai": b'"choices": [{"index": 0, "delta": {}, "finish_reason": null}]}\n\n',
    "openai_responses": b"event: response.in_progress\n",
    "gemini": b'"content": {"role": "model", "parts": []}',
    "ollama": b'"message": {"role": "assistant", "content": ""}, "done": false}\n',
}


def bodies(data: bytes) -> list[Any]:
    """The JSON of every event or line."""
    lines = [line.removeprefix("data: ") for line in data.decode().splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")]


def names(format: str, data: bytes) -> set[tuple[str, str]]:
    """Every id and model that a stream names."""
    fields = {"gemini": ("responseId", "modelVersion")}.get(format, ("id", "model"))
    found = [body.get("message", body.get("response", body)) for body in bodies(data)]
    if format == "ollama":
        found = bodies(data)
    named = [body for body in found if fields[1] in body]
    return {(body.get(fields[0], ""), body[fields[1]]) for body in named}


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_a_stream_has_the_clients_model_and_the_callers_id_from_its_start(
    client: str, endpoint: str
) -> None:
    """In every event that names them, whatever the endpoint calls itself."""
    data = b"".join(write_event_stream(FORMATS[endpoint], reply_events(REPLY)))

    written = b"".join(translate_stream([data], FORMATS[endpoint], FORMATS[client], HEAD))

    expected = {("" if client == "ollama" else "ours_1", "their-model")}
    assert names(client, written) == expected
    assert b"upstream" not in written


@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_without_a_head_a_stream_has_the_endpoints_id_and_model(client: str, endpoint: str) -> None:
    """They are known from the reply's first event on, where the format says them first."""
    data = b"".join(write_event_stream(FORMATS[endpoint], reply_events(REPLY)))

    written = b"".join(translate_stream([data], FORMATS[endpoint], FORMATS[client]))

    found = names(client, written)
    assert {model for _, model in found} == {"upstream-model"}
    if "ollama" not in (client, endpoint):
        assert {id_ for id_, _ in found} == {"upstream_1"}


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_whole_answer_has_the_clients_model_and_the_callers_id(format: str) -> None:
    """The same argument as for a stream."""
    body = FORMATS[format].write_reply(REPLY, HEAD)

    read = FORMATS[format].read_reply(json.loads(json.dumps(body)))

    assert read.model == "their-model"
    assert read.id == ("" if format == "ollama" else "ours_1")
    assert "upstream" not in json.dumps(body)


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_the_first_event_says_what_the_endpoint_says_first(format: str) -> None:
    """Also for a stream of nothing, of an error, or that is no stream."""
    adapter = FORMATS[format]
    data = b"".join(write_event_stream(adapter, reply_events(REPLY)))

    started = read_events(adapter, data)[0]
    whole = read_events(adapter, json.dumps(adapter.write_reply(REPLY)).encode())[0]

    assert isinstance(started, ReplyStarted)
    assert isinstance(whole, ReplyStarted)
    assert started.model == whole.model == "upstream-model"
    assert started.id == whole.id == ("" if format == "ollama" else "upstream_1")
    for nothing in (b"", b"\n\n", b'data: {"error": {"message": "no"}}\n\n', b"<html>"):
        events = read_events(adapter, nothing)
        assert isinstance(events[0], ReplyStarted)
        assert [type(event) for event in events].count(ReplyStarted) == 1


def test_the_usage_of_the_first_event_is_what_anthropic_counts_first() -> None:
    """Claude Code reads the size of its prompt there."""
    anthropic = FORMATS["anthropic"]
    events: list[Event] = [ReplyStarted("m1", "m", Usage(120, 1, None, 100)), *_ended()]

    own = b"".join(write_event_stream(anthropic, events))
    estimated = b"".join(write_event_stream(anthropic, events, ReplyHead(input_tokens=42)))

    usage = bodies(own)[0]["message"]["usage"]
    assert (usage["input_tokens"], usage["cache_read_input_tokens"]) == (20, 100)
    assert bodies(estimated)[0]["message"]["usage"]["input_tokens"] == 42
    assert read_events(anthropic, own)[0] == events[0]
    assert read_stream(anthropic, estimated).usage.input_tokens == 9


def _ended() -> list[Event]:
    return [ReplyEnded(Reply((), Stop.END, Usage(9, 7), id="m1", model="m"))]


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_heartbeats_are_legal_anywhere(format: str) -> None:
    """Before the first event, between all events: the answer reads the same, without deviations."""
    adapter = FORMATS[format]
    plain = read_stream(adapter, b"".join(write_event_stream(adapter, reply_events(REPLY), HEAD)))
    writer = adapter.write_stream(HEAD)

    pieces = [writer.heartbeat(), writer.heartbeat()]
    for event in reply_events(REPLY):
        pieces += [writer.write(event), writer.heartbeat()]
    data = b"".join(pieces)

    assert read_stream(adapter, data) == plain
    assert deviation_names(read_stream(adapter, data)) == []
    assert pieces[-1] == b""
    assert all(pieces[1::2][:-1])
    assert data.count(BEATS[format]) >= len(reply_events(REPLY))
    assert names(format, data) == {("" if format == "ollama" else "ours_1", "their-model")}
    assert b"\n:" not in data


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_a_heartbeat_opens_a_stream_that_may_still_fail(format: str) -> None:
    """The client sees an open answer, then an error, and never a finished one."""
    adapter = FORMATS[format]
    writer = adapter.write_stream(HEAD)

    data = writer.heartbeat() + writer.write(ReplyEnded(Reply((), Stop.ERROR)))

    reply = read_stream(adapter, data)
    assert reply.stop is Stop.ERROR
    assert reply.error is not None


def test_a_heartbeat_opens_a_message_and_a_response_properly() -> None:
    """Their clients read nothing before the event that opens the answer."""
    message = FORMATS["anthropic"].write_stream(HEAD).heartbeat()
    response = FORMATS["openai_responses"].write_stream(HEAD).heartbeat()
    chunk = FORMATS["openai"].write_stream(HEAD).heartbeat()

    assert re.findall(rb"event: (\S+)", message) == [b"message_start", b"ping"]
    assert re.findall(rb"event: (\S+)", response) == [b"response.created", b"response.in_progress"]
    assert [body["choices"][0]["delta"] for body in bodies(chunk)] == [
        {"role": "assistant", "content": None},
        {},
    ]


def test_a_long_call_can_be_announced_by_heartbeats_alone() -> None:
    """A held call writes nothing until it is whole; the client stays."""
    writer = FORMATS["anthropic"].write_stream(HEAD)
    started, begun, *_ = reply_events(Reply((CALL,), Stop.TOOL_CALLS))

    held = [writer.write(event) for event in (started, begun, PartDelta(0, '{"a"'))]
    beat = writer.heartbeat()
    whole = writer.write(PartEnded(0, CALL))

    assert b"tool_use" not in b"".join(held)
    assert beat == BEATS["anthropic"]
    assert b"tool_use" in whole


def test_a_chat_client_gets_the_usage_chunk_if_it_asked() -> None:
    """Its last chunk has no choices; a client that did not ask might index them."""
    chat = FORMATS["openai"]

    asked = b"".join(write_event_stream(chat, reply_events(REPLY)))
    unasked = b"".join(
        write_event_stream(chat, reply_events(REPLY), ReplyHead(include_usage=False))
    )

    assert bodies(asked)[-1]["usage"]["total_tokens"] == 16
    assert bodies(asked)[-1]["choices"] == []
    assert b"usage" not in unasked
    assert all(body["choices"] for body in bodies(unasked))
