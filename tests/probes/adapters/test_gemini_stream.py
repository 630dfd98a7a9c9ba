from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.base import write_event_stream
from probes.adapters.gemini.adapter import GeminiAdapter
from probes.events import (
    Event,
    PartDelta,
    PartEnded,
    PartKind,
    PartStarted,
    ReplyEnded,
    ReplyStarted,
)
from probes.messages import (
    BrokenCall,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.gemini_bodies import CALL, answer, answers
from tests.probes.adapters.wire_bodies import deviation_names, read_events, read_stream

ADAPTER = GeminiAdapter()


def sse(*chunks: Any) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks).encode()


def chunk(*parts: Any, finish: str | None = None) -> dict[str, Any]:
    return answer(*parts, finish=finish)


SAMPLE = sse(
    chunk({"text": "h", "thought": True}),
    chunk({"text": "m", "thought": True}, {"text": "Grü"}),
    chunk({"text": "ße"}),
    chunk(CALL | {"thoughtSignature": "U0lH"}),
    chunk({"text": ""}, finish="STOP"),
)


@pytest.mark.parametrize("size", [1, 7, None])
def test_a_stream_is_read_like_the_whole_answer_however_it_is_cut(size: int | None) -> None:
    """Text of one kind is joined; the call, its signature and the other fields are the same."""
    whole = ADAPTER.read_reply(
        answer(
            {"text": "hm", "thought": True},
            {"text": "Grüße"},
            CALL | {"thoughtSignature": "U0lH"},
        )
    )

    assert read_stream(ADAPTER, SAMPLE, size) == whole


def test_events_come_as_the_parts_grow() -> None:
    """Text events come immediately; the call ends once the finish reason confirms it."""
    kinds = [(type(event), getattr(event, "index", None)) for event in read_events(ADAPTER, SAMPLE)]

    assert kinds == [
        (ReplyStarted, None),
        (PartStarted, 0),
        (PartDelta, 0),
        (PartDelta, 0),
        (PartEnded, 0),
        (PartStarted, 1),
        (PartDelta, 1),
        (PartDelta, 1),
        (PartEnded, 1),
        (PartStarted, 2),
        (PartDelta, 2),
        (PartEnded, 2),
        (ReplyEnded, None),
    ]


def test_z12_a_signature_on_a_trailing_empty_part_is_a_part_of_its_own() -> None:
    """It is neither dropped nor moved to the text before it."""
    data = sse(
        chunk({"text": "hi"}), chunk({"text": "", "thoughtSignature": "UQ=="}, finish="STOP")
    )

    reply = read_stream(ADAPTER, data)

    assert reply.parts == (Text("hi"), Text("", {"gemini": {"thoughtSignature": "UQ=="}}))
    rewritten = read_stream(ADAPTER, b"".join(write_event_stream(ADAPTER, reply_events(reply))))
    assert rewritten.parts == reply.parts


def test_z14_calls_wait_for_the_finish_reason_that_may_disown_them() -> None:
    """A call in a turn that ends as malformed is never ended as a call."""
    data = sse(chunk(CALL), chunk(finish="MALFORMED_FUNCTION_CALL"))

    events = read_events(ADAPTER, data)

    ended = [event.part for event in events if isinstance(event, PartEnded)]
    assert [type(part) for part in ended] == [BrokenCall]
    assert read_stream(ADAPTER, data).stop is Stop.MALFORMED_CALL


def test_a_call_is_not_ended_before_the_finish_reason_is_known() -> None:
    """The token limit may still have cut the call."""
    reader = ADAPTER.read_stream()

    before = reader.feed(sse(chunk(CALL)))
    after = [*reader.feed(sse(chunk(finish="MAX_TOKENS"))), *reader.close()]

    assert not any(isinstance(event, PartEnded) for event in before)
    assert [type(event.part) for event in after if isinstance(event, PartEnded)] == [BrokenCall]


def test_a_stream_that_breaks_off_is_an_error() -> None:
    """Without a finish reason the answer may be incomplete."""
    reply = read_stream(ADAPTER, sse(chunk({"text": "hal"})))

    assert (reply.text, reply.stop) == ("hal", Stop.ERROR)
    assert "stream_cut_off" in deviation_names(reply)


def test_an_error_inside_the_stream_is_an_error() -> None:
    """The error comes after a 200."""
    error = {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}

    reply = read_stream(ADAPTER, sse(chunk({"text": "x"}), {"error": error}, chunk({"text": "y"})))

    assert (reply.text, reply.stop) == ("x", Stop.ERROR)
    extra: Any = reply.extra["gemini"]
    assert extra["error"] == error


@pytest.mark.parametrize("framing", [lambda chunks: chunks, lambda chunks: chunks[0]])
def test_an_answer_without_event_framing_is_read_all_the_same(framing: Any) -> None:
    """Without alt=sse the stream is a JSON list; some relays send one whole answer."""
    body = framing([answer({"text": "hi"}, CALL)])

    reply = read_stream(ADAPTER, json.dumps(body, indent=2).encode(), 9)

    assert replace(reply, deviations=()) == ADAPTER.read_reply(answer({"text": "hi"}, CALL))
    assert deviation_names(reply) == ["not_streamed"]


def test_a_blocked_prompt_is_a_refusal_in_a_stream_too() -> None:
    """There is no candidate to finish."""
    reply = read_stream(ADAPTER, sse({"promptFeedback": {"blockReason": "SAFETY"}}))

    assert reply.stop is Stop.REFUSAL


def streamed(body: dict[str, Any]) -> bytes:
    """A whole answer as the vendor would stream it: one part per chunk."""
    (candidate,) = body["candidates"]
    chunks = [
        body | {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
        for part in candidate["content"]["parts"]
    ]
    last = candidate | {"content": {"role": "model", "parts": []}}
    return sse(*chunks, body | {"candidates": [last]})


@given(answers())
def test_streamed_and_whole_give_one_reply(body: dict[str, Any]) -> None:
    """For any answer of the format, streaming it changes nothing."""
    assert read_stream(ADAPTER, streamed(body), 11) == ADAPTER.read_reply(body)


@given(answers())
def test_a_stream_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A written stream reads as the reply that it was written from."""
    for part in body["candidates"][0]["content"]["parts"]:
        if "functionCall" in part:
            part["functionCall"].setdefault("id", "x9")
    reply = ADAPTER.read_reply(body)

    data = b"".join(write_event_stream(ADAPTER, read_events(ADAPTER, streamed(body))))

    assert read_stream(ADAPTER, data, 13) == reply


@given(st.lists(st.binary(max_size=40) | st.sampled_from(SAMPLE.split(b"\r\n\r\n")), max_size=12))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """Whatever arrives, the stream ends with one reply."""
    read_stream(ADAPTER, b"\n\n".join(pieces), 3)


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": 1},
        {"candidates": [1]},
        {"candidates": [{"content": 1}]},
        {"candidates": [{"content": {"parts": [1, {}, {"functionCall": 1}, {"text": 1}]}}]},
        {"usageMetadata": 1, "promptFeedback": 2},
    ],
)
def test_chunks_of_any_shape_are_bent_never_fatal(body: Any) -> None:
    """Unreadable chunks are reported or kept, and the stream continues."""
    reply = read_stream(ADAPTER, sse(body, chunk({"text": "x"}, finish="STOP")))

    assert reply.text == "x"


def test_parts_are_written_in_order_and_the_last_piece_carries_the_signature() -> None:
    """A signature known only at the end is still on text of its own part."""
    text = Text("abc", {"gemini": {"thoughtSignature": "UQ=="}})
    events: list[Event] = [
        PartStarted(0, PartKind.TEXT),
        *(PartDelta(0, char) for char in "abc"),
        PartEnded(0, text),
        ReplyEnded(Reply((text,), Stop.END)),
    ]

    data = b"".join(write_event_stream(ADAPTER, events))

    parts = [
        part
        for line in data.decode().splitlines()
        if line
        for part in json.loads(line[6:])["candidates"][0]["content"]["parts"]
    ]
    assert parts == [{"text": "a"}, {"text": "b"}, {"text": "c", "thoughtSignature": "UQ=="}]


def test_reasoning_of_another_format_is_streamed_as_a_thought() -> None:
    """The client sees the reasoning, without an invented signature."""
    reply = Reply((Reasoning("hm", ReasoningKind.FIELD, "reasoning"), Text("hi")), Stop.END)

    read_back = read_stream(ADAPTER, b"".join(write_event_stream(ADAPTER, reply_events(reply))))

    assert (read_back.reasoning, read_back.text) == ("hm", "hi")
