"""A reply that was read may still be too much to keep and to judge: then it gets no verdict."""

from __future__ import annotations

import pytest

from probes.errors import TooLarge, WireError
from probes.http_messages import Chunk, WireResponse
from probes.messages import (
    Deviation,
    Part,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
)
from probes.reply_limits import (
    MAX_CALLS,
    MAX_LINES,
    MAX_TEXT,
    MAX_VALUES,
    check_reply_size,
    check_stream_lines,
)

INCOMING = WireResponse(200)
CALL = ToolCall("c", "f", {}, "openai", "{}")


def reply(*parts: Part) -> Reply:
    return Reply(parts, Stop.END)


@pytest.mark.parametrize(
    ("large", "message"),
    [
        (reply(Text("x" * MAX_TEXT), Reasoning("y", ReasoningKind.FIELD, "r")), "text"),
        (reply(*[CALL] * (MAX_CALLS + 1)), "calls"),
        (reply(Text("", {"openai": {"x": [[]] * MAX_VALUES}})), "JSON values"),
        (reply(ToolCall("c", "f", {"x": [0] * MAX_VALUES}, "openai", "{}")), "JSON values"),
        (Reply((), Stop.END, raw={"x": [{}] * MAX_VALUES}), "JSON values"),
    ],
)
def test_more_than_a_probe_needs_is_refused(large: Reply, message: str) -> None:
    """The error says what there was too much of, and keeps the answer for evidence."""
    with pytest.raises(TooLarge, match=message) as caught:
        check_reply_size(large, INCOMING)

    assert caught.value.received is INCOMING


def test_as_much_as_a_probe_needs_passes() -> None:
    """At the limits themselves nothing is refused."""
    check_reply_size(reply(Text("x" * (MAX_TEXT - 5)), CALL), INCOMING)
    check_stream_lines(WireResponse(200, {}, (Chunk(0, b"data: {}\r\n" * MAX_LINES),)))


def test_a_reply_whose_calls_were_left_out_is_not_judged() -> None:
    """The first calls of many would get a verdict that the whole reply does not deserve."""
    with pytest.raises(WireError, match="more calls"):
        check_reply_size(
            Reply((CALL,), Stop.END, deviations=(Deviation("too_many_calls", "$"),)), INCOMING
        )


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_a_stream_of_very_many_lines_is_refused(ending: bytes) -> None:
    """Whichever way its lines end."""
    with pytest.raises(TooLarge, match="lines"):
        check_stream_lines(WireResponse(200, {}, (Chunk(0, ending * (MAX_LINES + 1)),)))
