from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.anthropic.adapter import AnthropicAdapter
from probes.adapters.anthropic.stream_writer import AnthropicStreamWriter
from probes.adapters.base import write_event_stream
from probes.events import (
    Event,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
    ReplyEnded,
    ReplyHead,
    ReplyStarted,
)
from probes.messages import (
    Breakage,
    BrokenCall,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.anthropic_bodies import USE, message, messages
from tests.probes.adapters.wire_bodies import deviation_names, read_events, read_stream

ADAPTER = AnthropicAdapter()
START = {"type": "message_start", "message": message(stop=None)}
STOP = {"type": "message_stop"}
EMPTY_USE = USE | {"input": {}}


def sse(*events: dict[str, Any]) -> bytes:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return "".join(lines).encode()


def start(index: int | None, block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int | None, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def json_delta(index: int | None, text: str) -> dict[str, Any]:
    return delta(index, "input_json_delta", partial_json=text)


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def end(reason: str | None, **usage: int) -> dict[str, Any]:
    inner = {"stop_reason": reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": inner, "usage": {"output_tokens": 7, **usage}}


def streamed(body: dict[str, Any]) -> bytes:
    """A whole answer as the vendor would stream it, in small pieces."""
    events: list[Any] = [
        {"type": "message_start", "message": body | {"content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(body["content"]):
        events += _block_events(index, block)
    closing: Any = {"stop_reason": body["stop_reason"], "stop_sequence": body["stop_sequence"]}
    events += [{"type": "message_delta", "delta": closing, "usage": body["usage"]}, STOP]
    return sse(*events)


def _block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    match block["type"]:
        case "text":
            pieces = [delta(index, "text_delta", text=char) for char in block["text"]]
            opening = block | {"text": ""}
        case "thinking":
            pieces = [delta(index, "thinking_delta", thinking=char) for char in block["thinking"]]
            pieces.append(delta(index, "signature_delta", signature=block["signature"]))
            opening = block | {"thinking": "", "signature": ""}
        case "tool_use":
            text = json.dumps(block["input"], ensure_ascii=False)
            pieces = [json_delta(index, char) for char in ["", *text]]
            opening = block | {"input": {}}
        case _:
            pieces, opening = [], block
    return [start(index, opening), *pieces, stop(index)]


SAMPLE = sse(
    START,
    start(0, {"type": "thinking", "thinking": "", "signature": ""}),
    {"type": "ping"},
    delta(0, "thinking_delta", thinking="t"),
    delta(0, "signature_delta", signature="S=="),
    stop(0),
    start(1, {"type": "text", "text": ""}),
    delta(1, "text_delta", text="héllo"),
    stop(1),
    start(2, EMPTY_USE),
    json_delta(2, ""),
    json_delta(2, '{"a"'),
    json_delta(2, ": 1}"),
    stop(2),
    end("tool_use"),
    STOP,
)


@pytest.mark.parametrize("size", [1, 7, None])
def test_a_stream_is_read_like_the_whole_answer_however_it_is_cut(size: int | None) -> None:
    """Blocks, signature, arguments, usage and stop equal those of the unstreamed answer."""
    thinking = {"type": "thinking", "thinking": "t", "signature": "S=="}
    whole = ADAPTER.read_reply(
        message(thinking, {"type": "text", "text": "héllo"}, USE, stop="tool_use")
    )

    reply = read_stream(ADAPTER, SAMPLE, size)

    assert reply == whole


def test_cached_tokens_of_a_stream_are_tokens_of_the_prompt() -> None:
    """The first event counts the prompt, as llama.cpp sends it: nearly all of it was cached."""
    usage = {"input_tokens": 1, "output_tokens": 0, "cache_read_input_tokens": 120}
    opening = {"type": "message_start", "message": message(usage=usage, stop=None)}

    reply = read_stream(ADAPTER, sse(opening, end("end_turn"), STOP), None)
    written = b"".join(write_event_stream(ADAPTER, reply_events(reply)))
    again = read_stream(ADAPTER, written, None)

    assert reply.usage == Usage(121, 7, None, 120)
    assert again.usage == reply.usage


def test_events_come_as_the_parts_grow() -> None:
    """Text events come immediately; a call ends only once it is known to be complete."""
    events = read_events(ADAPTER, SAMPLE)

    assert events[:-1] == [
        ReplyStarted("msg_1", "m", Usage(9, 7)),
        PartStarted(0, PartKind.REASONING),
        PartDelta(0, "t"),
        PartEnded(
            0,
            Reasoning(
                "t",
                ReasoningKind.BLOCK,
                {"type": "thinking", "thinking": "t", "signature": "S=="},
            ),
        ),
        PartStarted(1, PartKind.TEXT),
        PartDelta(1, "héllo"),
        PartEnded(1, Text("héllo")),
        PartStarted(2, PartKind.CALL, "toolu_1", "f"),
        PartDelta(2, '{"a"'),
        PartDelta(2, ": 1}"),
        PartEnded(2, ToolCall("toolu_1", "f", {"a": 1}, "anthropic", '{"a": 1}')),
    ]


def test_a_call_is_not_ended_before_the_stop_reason_is_known() -> None:
    """The token limit may still have cut the call."""
    reader = ADAPTER.read_stream()

    before = reader.feed(sse(START, start(0, EMPTY_USE), json_delta(0, "{}"), stop(0)))
    after = reader.feed(sse(end("max_tokens"), STOP))

    assert not any(isinstance(event, PartEnded) for event in before)
    assert isinstance(after[0], PartEnded)
    assert isinstance(after[0].part, BrokenCall)
    assert after[0].part.kind is Breakage.TRUNCATED_CALL


@pytest.mark.parametrize(
    ("events", "deviations"),
    [
        ([start(0, USE), stop(0)], ["input_in_start"]),
        ([start(0, EMPTY_USE), json_delta(0, '{"a": 1}')], ["missing_block_stop"]),
        ([start(0, EMPTY_USE), json_delta(None, '{"a": 1}'), stop(0)], []),
        ([start(5, EMPTY_USE), json_delta(0, '{"a": 1}'), stop(0)], []),
        (
            [start(0, EMPTY_USE), {"type": "news"}, json_delta(0, '{"a": 1}'), stop(0)],
            ["unknown_event"],
        ),
        (
            [start(0, EMPTY_USE), delta(0, "odd_delta"), json_delta(0, '{"a": 1}'), stop(0)],
            ["unknown_delta"],
        ),
    ],
)
def test_what_compatible_servers_bend_is_read_and_named(
    events: list[dict[str, Any]], deviations: list[str]
) -> None:
    """The call is the same whatever the server omits."""
    reply = read_stream(ADAPTER, sse(START, *events, end("tool_use"), STOP))

    assert [(call.name, call.input) for call in reply.calls] == [("f", {"a": 1})]
    assert reply.stop is Stop.TOOL_CALLS
    assert deviation_names(reply) == deviations


def test_no_delta_means_no_arguments() -> None:
    """A tool without parameters is called with an empty input."""
    reply = read_stream(
        ADAPTER, sse(START, start(0, EMPTY_USE), json_delta(0, ""), stop(0), end("tool_use"), STOP)
    )

    assert reply.calls[0].input == {}


def test_interleaved_blocks_stay_apart_by_their_index() -> None:
    """Arguments of two concurrent calls are not mixed."""
    other = EMPTY_USE | {"id": "toolu_2"}
    data = sse(
        START,
        start(0, EMPTY_USE),
        start(1, other),
        json_delta(0, '{"a":'),
        json_delta(1, '{"b":'),
        json_delta(0, "1}"),
        json_delta(1, "2}"),
        stop(1),
        stop(0),
        end("tool_use"),
        STOP,
    )

    reply = read_stream(ADAPTER, data)

    assert [call.input for call in reply.calls] == [{"a": 1}, {"b": 2}]


def test_a_missing_stop_reason_is_inferred_from_the_blocks() -> None:
    """An empty message_delta does not end the agent's work."""
    reply = read_stream(ADAPTER, sse(START, start(0, USE), stop(0), end(None), STOP))

    assert reply.stop is Stop.TOOL_CALLS
    assert "missing_stop_reason" in deviation_names(reply)


def test_a_stream_that_breaks_off_inside_a_call_gives_no_call() -> None:
    """Arguments that look complete do not count if the block was never closed."""
    reply = read_stream(ADAPTER, sse(START, start(0, EMPTY_USE), json_delta(0, '{"a": 1}')))

    assert reply.stop is Stop.ERROR
    assert reply.calls == ()
    assert reply.broken[0].raw == '{"a": 1}'


def test_unsigned_thinking_of_a_broken_stream_is_never_sent_back_as_a_block() -> None:
    """A block without a signature would be refused."""
    block = {"type": "thinking", "thinking": "", "signature": ""}

    reply = read_stream(
        ADAPTER, sse(START, start(0, block), delta(0, "thinking_delta", thinking="hm"))
    )

    assert reply.reasoning == "hm"
    assert all(
        part.kind is not ReasoningKind.BLOCK for part in reply.parts if isinstance(part, Reasoning)
    )


def test_an_error_event_ends_the_reply_as_an_error() -> None:
    """The error comes after a 200, and the open call is not run."""
    error = {"type": "overloaded_error", "message": "busy"}
    data = sse(START, start(0, EMPTY_USE), {"type": "error", "error": error}, end("tool_use"))

    reply = read_stream(ADAPTER, data)

    assert reply.stop is Stop.ERROR
    assert reply.calls == ()
    assert reply.extra["anthropic"] == {"error": error}


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    """Some relays ignore the stream flag and answer with one JSON body."""
    body = message(USE, stop="tool_use")

    reply = read_stream(ADAPTER, json.dumps(body, indent=1).encode(), 5)

    assert replace(reply, deviations=()) == ADAPTER.read_reply(body)
    assert deviation_names(reply) == ["not_streamed"]


def test_citations_of_a_text_are_collected() -> None:
    """Citations arrive as deltas and belong to their text."""
    data = sse(
        START,
        start(0, {"type": "text", "text": ""}),
        delta(0, "citations_delta", citation={"n": 1}),
        delta(0, "citations_delta", citation={"n": 2}),
        delta(0, "text_delta", text="x"),
        stop(0),
        end("end_turn"),
        STOP,
    )

    reply = read_stream(ADAPTER, data)

    assert reply.parts == (Text("x", {"anthropic": {"citations": [{"n": 1}, {"n": 2}]}}),)
    assert (
        read_stream(ADAPTER, b"".join(write_event_stream(ADAPTER, reply_events(reply)))).parts
        == reply.parts
    )


@given(messages())
def test_streamed_and_whole_give_one_reply(body: dict[str, Any]) -> None:
    """For any answer of the format, streaming it changes nothing."""
    assert read_stream(ADAPTER, streamed(body), 11) == ADAPTER.read_reply(body)


@given(messages())
def test_a_stream_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A written stream reads as the reply that it was written from."""
    plain = [block for block in body["content"] if not any(key[:2] == "x_" for key in block)]
    called = any(block["type"] == "tool_use" for block in plain)
    body |= {"content": plain, "stop_reason": "tool_use" if called else "end_turn"}
    reply = ADAPTER.read_reply(body)
    writer = AnthropicStreamWriter(ReplyHead(reply.id, reply.model or ""))

    data = b"".join(writer.write(event) for event in read_events(ADAPTER, streamed(body)))

    assert read_stream(ADAPTER, data, 13) == reply


@given(st.lists(st.binary(max_size=40) | st.sampled_from(SAMPLE.split(b"\n\n")), max_size=12))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """Whatever arrives, the stream ends with one reply."""
    read_stream(ADAPTER, b"\n\n".join(pieces), 3)


@given(st.permutations(SAMPLE.split(b"\n\n")))
def test_events_in_any_order_end_in_a_reply(pieces: list[bytes]) -> None:
    """A shuffled stream has deviations but never raises."""
    read_stream(ADAPTER, b"\n\n".join(pieces))


def test_overlapping_parts_are_written_one_block_after_the_other() -> None:
    """Other formats interleave parallel calls; clients of this one expect whole blocks."""
    one = ToolCall("a", "f", {"x": 1}, "openai", '{"x":1}')
    two = ToolCall("b", "g", {}, "openai", "{}")
    events: list[Event] = [
        PartStarted(0, PartKind.CALL, "a", "f"),
        PartStarted(1, PartKind.CALL, "b", "g"),
        PartDelta(1, "{}"),
        PartDelta(0, '{"x":1}'),
        PartEnded(1, two),
        PartStarted(2, PartKind.TEXT),
        PartDelta(2, "hi"),
        PartEnded(0, one),
        PartEnded(2, Text("hi")),
        ReplyEnded(Reply((one, two, Text("hi")), Stop.TOOL_CALLS)),
    ]

    data = b"".join(write_event_stream(ADAPTER, events))

    reply = read_stream(ADAPTER, data)
    assert [call.id for call in reply.calls] == ["a", "b"]
    assert reply.parts[2] == Text("hi")
    assert reply.deviations == ()


def test_a_call_that_breaks_is_never_shown_to_the_client() -> None:
    """A call is written only once it is complete."""
    broken = BrokenCall('{"a":', "cut", name="f", id="a")
    events: list[Event] = [
        PartStarted(0, PartKind.CALL, "a", "f"),
        PartDelta(0, '{"a":'),
        PartEnded(0, broken),
        ReplyEnded(Reply((broken,), Stop.ERROR)),
    ]

    data = b"".join(write_event_stream(ADAPTER, events))

    assert b"tool_use" not in data
    assert b"event: error" in data


def test_a_long_call_that_is_held_back_keeps_the_connection_alive() -> None:
    """Pings keep a client from hanging up."""
    writer = ADAPTER.write_stream()
    writer.write(PartStarted(0, PartKind.CALL, "a", "f"))

    data = b"".join(writer.write(PartDelta(0, "x")) for _ in range(100))

    assert data.count(b"event: ping") == 3


def test_a_delta_of_a_block_beyond_the_limit_reaches_no_other_block() -> None:
    """Parts beyond the limit are dropped, not mixed into others."""
    blocks = [start(index, {"type": "text", "text": ""}) for index in range(1025)]
    data = sse(START, *blocks, delta(1024, "text_delta", text="lost"), end("end_turn"), STOP)

    reply = read_stream(ADAPTER, data)

    assert (len(reply.parts), reply.text) == (1024, "")
    assert "too_many_parts" in deviation_names(reply)
