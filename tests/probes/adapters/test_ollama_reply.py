from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.base import ErrorBody, write_event_stream
from probes.adapters.ollama.adapter import OllamaAdapter
from probes.errors import WireError
from probes.events import PartDelta, PartEnded, PartStarted, ReplyEnded, ReplyStarted
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
from tests.probes.adapters.ollama_bodies import CALL, answer, answers
from tests.probes.adapters.wire_bodies import deviation_names, read_events, read_stream

ADAPTER = OllamaAdapter()
OTHER = {"id": "call_2", "function": {"index": 1, "name": "g", "arguments": {}}}
UNPARSED = "error parsing tool call: raw='{\"a\": 'x'}]', err=invalid character ']'"


def lines(*bodies: Any) -> bytes:
    return b"".join(json.dumps(body, ensure_ascii=False).encode() + b"\n" for body in bodies)


def piece(content: str = "", **message: Any) -> dict[str, Any]:
    line = {"role": "assistant", "content": content, **message}
    return {"model": "m", "created_at": "2026-11-01T00:00:00Z", "message": line, "done": False}


SAMPLE = lines(
    piece(thinking="h"),
    piece(thinking="m"),
    piece("Grü"),
    piece("ße"),
    piece(tool_calls=[CALL]),
    piece(tool_calls=[OTHER]),
    answer(),
)
WHOLE_ANSWER = answer("Grüße", thinking="hm", tool_calls=[CALL, OTHER])


def test_an_answer_is_read() -> None:
    """Thinking, text and calls, in this order; "stop" is also sent for calls."""
    reply = ADAPTER.read_reply(WHOLE_ANSWER)

    extra: Any = {"ollama": {"function": {"index": 0}}}
    assert reply.parts[:3] == (
        Reasoning("hm", ReasoningKind.FIELD, "thinking"),
        Text("Grüße"),
        ToolCall("call_ab12cd34", "f", {"a": 1}, "ollama", '{"a": 1}', extra=extra),
    )
    assert (reply.stop, reply.stop_raw, reply.model) == (Stop.TOOL_CALLS, "stop", "m")
    assert reply.usage == Usage(9, 7)
    assert reply.deviations == ()
    assert ADAPTER.write_reply(reply) == WHOLE_ANSWER


@pytest.mark.parametrize("size", [1, 7, None])
def test_a_stream_is_read_like_the_whole_answer_however_it_is_cut(size: int | None) -> None:
    """Lines cut anywhere give the reply of the unstreamed answer."""
    assert read_stream(ADAPTER, SAMPLE, size) == ADAPTER.read_reply(WHOLE_ANSWER)


def test_events_come_as_the_parts_grow() -> None:
    """Text events come immediately; the last call ends with the answer, which may reject it."""
    events = [
        (type(event), getattr(event, "index", None))
        for event in read_events(ADAPTER, SAMPLE)
        if not isinstance(event, PartDelta)
    ]

    assert events == [
        (ReplyStarted, None),
        (PartStarted, 0),
        (PartStarted, 1),
        (PartStarted, 2),
        (PartStarted, 3),
        (PartEnded, 2),
        (PartEnded, 0),
        (PartEnded, 1),
        (PartEnded, 3),
        (ReplyEnded, None),
    ]


def test_empty_content_beside_a_call_is_no_text() -> None:
    """The field is always present; alone it is an empty answer."""
    assert ADAPTER.read_reply(answer(tool_calls=[CALL])).text is None
    assert ADAPTER.read_reply(answer()).text == ""
    assert read_stream(ADAPTER, lines(piece(), answer())).text == ""


def test_an_id_that_is_missing_is_minted_and_not_sent_back() -> None:
    """Older servers send no ids; each call still gets its own."""
    bare = {"function": {"name": "f", "arguments": {}}}
    body = answer(tool_calls=[bare, bare])

    reply = ADAPTER.read_reply(body)

    assert len({call.id for call in reply.calls}) == 2
    assert ADAPTER.write_reply(reply) == body
    assert read_stream(ADAPTER, lines(piece(tool_calls=[bare, bare]), answer())) == reply


def test_z45_a_call_that_the_server_could_not_parse_is_a_broken_call() -> None:
    """Its whole text is taken from the error line."""
    reply = read_stream(ADAPTER, lines(piece("let me"), {"error": UNPARSED}), 5)

    assert reply.stop is Stop.MALFORMED_CALL
    assert reply.text == "let me"
    assert [call.raw for call in reply.broken] == ["{\"a\": 'x'}]"]
    assert reply.calls == ()


@pytest.mark.parametrize(
    "body", [{"error": UNPARSED}, {"error parsing tool call": UNPARSED.partition(": ")[2]}]
)
def test_z45_the_same_in_a_whole_answer(body: Any) -> None:
    """Both spellings of the error contain the text of the call."""
    reply = ADAPTER.read_reply(body)

    assert [call.raw for call in reply.broken] == ["{\"a\": 'x'}]"]
    assert ADAPTER.read_error(body) == ErrorBody(UNPARSED)


def test_another_error_line_ends_the_reply_as_an_error() -> None:
    """Parts before the error are kept."""
    reply = read_stream(ADAPTER, lines(piece("hal"), {"error": "out of memory"}, answer()))

    assert (reply.text, reply.stop, reply.broken) == ("hal", Stop.ERROR, ())
    extra: Any = reply.extra["ollama"]
    assert extra["error"] == "out of memory"


def test_a_stream_that_breaks_off_is_an_error() -> None:
    """Without the last line the answer may be incomplete."""
    reply = read_stream(ADAPTER, lines(piece("hal"))[:-1])

    assert (reply.text, reply.stop) == ("hal", Stop.ERROR)
    assert "stream_cut_off" in deviation_names(reply)


def test_the_last_call_at_the_token_limit_is_not_a_call() -> None:
    """In a stream as in an unstreamed answer."""
    whole = ADAPTER.read_reply(answer(reason="length", tool_calls=[CALL, OTHER]))
    data = lines(piece(tool_calls=[CALL]), piece(tool_calls=[OTHER]), answer(reason="length"))

    assert [call.name for call in whole.calls] == ["f"]
    assert whole.broken[0].kind is Breakage.TRUNCATED_CALL
    assert read_stream(ADAPTER, data) == whole


@pytest.mark.parametrize(
    ("body", "stop", "deviations"),
    [
        (answer("x"), Stop.END, []),
        (answer("x", reason=None), Stop.END, ["missing_done_reason"]),
        (answer("x", reason="load"), Stop.OTHER, []),
        (answer("x", reason="odd"), Stop.OTHER, ["unknown_done_reason"]),
        (
            answer(tool_calls=[{"function": {"name": "f", "arguments": '{"a":1}'}}]),
            Stop.TOOL_CALLS,
            ["arguments_string"],
        ),
        (
            answer(tool_calls=[{"function": {"name": "f"}}]),
            Stop.TOOL_CALLS,
            ["arguments_null"],
        ),
    ],
)
def test_a_bent_answer_is_read_and_named(body: Any, stop: Stop, deviations: list[str]) -> None:
    """Deviations of builds are read as far as possible, and reported."""
    reply = ADAPTER.read_reply(body)

    assert reply.stop is stop
    assert deviation_names(reply) == deviations


def test_arguments_that_are_no_object_are_a_broken_call() -> None:
    """They never make a call."""
    entry = {"id": "c", "function": {"name": "f", "arguments": [1]}}

    reply = ADAPTER.read_reply(answer(tool_calls=[entry]))

    assert reply.broken[0].kind is Breakage.NOT_AN_OBJECT


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (None, "$"),
        ({}, "$.message"),
        (answer(tool_calls=1), "$.message.tool_calls"),
        (answer(tool_calls=[{"function": {}}]), "$.message.tool_calls[0].function.name"),
    ],
)
def test_an_answer_that_breaks_the_format_is_an_error_with_its_path(body: Any, at: str) -> None:
    """An invalid format raises an error, unlike faults of the model."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_reply(body)

    assert caught.value.at == at


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"error": "no such model"}, ErrorBody("no such model")),
        ({"error": {"message": "no", "code": 5}}, ErrorBody("no", "5")),
        (answer(), None),
        ([], None),
    ],
)
def test_an_error_is_found_in_its_envelope(body: Any, error: ErrorBody | None) -> None:
    """A plain text, or the OpenAI form of a proxy."""
    assert ADAPTER.read_error(body) == error


def test_a_failed_answer_is_streamed_as_an_error_line() -> None:
    """A client does not see a broken answer as done."""
    broken = BrokenCall("{", "The call is broken.", name="f")

    data = b"".join(
        write_event_stream(ADAPTER, reply_events(Reply((broken,), Stop.MALFORMED_CALL)))
    )

    assert data == b'{"error": "The call is broken."}\n'


@given(answers())
def test_an_answer_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A client gets the endpoint's answer, unknown fields included."""
    reply = ADAPTER.read_reply(body)

    assert ADAPTER.write_reply(reply) == body
    assert reply.deviations == ()
    assert ADAPTER.losses(reply) == []


@given(answers())
def test_a_stream_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A written stream reads as the reply that it was written from."""
    reply = ADAPTER.read_reply(body)

    data = b"".join(write_event_stream(ADAPTER, reply_events(reply)))

    assert read_stream(ADAPTER, data, 13) == reply


@given(st.lists(st.binary(max_size=40) | st.sampled_from(SAMPLE.split(b"\n")), max_size=12))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    """Whatever arrives, the stream ends with one reply."""
    read_stream(ADAPTER, b"\n".join(pieces), 3)


@pytest.mark.parametrize(
    "line",
    [
        {"message": 1},
        {"message": {"content": 1, "thinking": [], "tool_calls": 3}},
        {"message": {"tool_calls": [1, {}, {"function": {"name": 2}}]}},
        [1],
        "x",
    ],
)
def test_lines_of_any_shape_are_bent_never_fatal(line: Any) -> None:
    """Unreadable lines are reported, and the stream continues."""
    assert read_stream(ADAPTER, lines(line, piece("x"), answer())).text == "x"
