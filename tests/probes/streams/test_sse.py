from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.streams.sse import ServerEvent, SSEDecoder

STREAM = (
    b"\xef\xbb\xbf: keepalive\r\n"
    b"event: greeting\r\nid: 7\r\ndata: h\xc3\xa9llo\r\ndata:w\xf0\x9f\x98\x80rld\r\n\r\n"
    b"data\r\r:again\nretry: 5\ndata: {}\n\n"
)
EVENTS = [
    ServerEvent("greeting", "héllo\nw😀rld", "7"),
    ServerEvent("", "", "7"),
    ServerEvent("", "{}", "7"),
]


def decode(data: bytes, size: int, **limits: int) -> tuple[list[ServerEvent], SSEDecoder]:
    decoder = SSEDecoder(**limits)
    events = []
    for start in range(0, len(data), size):
        events += decoder.feed(data[start : start + size])
    return events + decoder.close(), decoder


@pytest.mark.parametrize("size", range(1, len(STREAM) + 1))
def test_events_are_the_same_however_the_bytes_are_cut(size: int) -> None:
    """Cut anywhere, in the middle of a character and between CR and LF too."""
    events, decoder = decode(STREAM, size)

    assert events == EVENTS
    assert decoder.comments == 2
    assert decoder.stray == ""


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_all_three_line_endings_end_a_line(ending: str) -> None:
    """The format allows each of them."""
    data = f"data: a{ending}data: b{ending}{ending}".encode()

    assert decode(data, 3)[0] == [ServerEvent("", "a\nb")]


def test_an_event_without_its_blank_line_is_given_and_marked() -> None:
    """Data before the end of the connection is not dropped."""
    assert decode(b"data: a\n\ndata: b", 4)[0] == [
        ServerEvent("", "a"),
        ServerEvent("", "b", unfinished=True),
    ]


def test_a_line_beyond_the_limit_is_marked_and_not_kept() -> None:
    """Memory stays bounded, and the events after it are read."""
    events, decoder = decode(b"data: " + b"x" * 500 + b"\n\ndata: b\n\n", 7, max_line=100)

    assert events == [ServerEvent("", "", too_large=True), ServerEvent("", "b")]
    assert decoder.close() == []


def test_an_event_beyond_the_limit_is_marked_and_not_kept() -> None:
    """Many short lines are limited as one long line is."""
    events, _ = decode(b"data: 12345678\n" * 50 + b"\ndata: b\n\n", 9, max_event=100)

    assert events == [ServerEvent("", "", too_large=True), ServerEvent("", "b")]


def test_a_plain_json_body_is_found_as_stray_text() -> None:
    """An endpoint that ignores `stream` answers with JSON, on one line or on many."""
    events, decoder = decode(b'{\n  "error": "no"\n}', 5)

    assert events == []
    assert decoder.stray == '{\n  "error": "no"\n}'


@given(st.binary(max_size=200), st.integers(1, 50))
def test_any_bytes_give_the_same_events_whole_and_in_pieces(data: bytes, size: int) -> None:
    """No input makes the decoder fail, and no cut changes its events."""
    assert decode(data, size)[0] == decode(data, len(data) or 1)[0]


@given(st.lists(st.sampled_from([b"data:", b" a", b"\r", b"\n", b"\xf0\x9f", b":", b"event: e"])))
def test_any_mixture_of_framing_gives_the_same_events_however_cut(pieces: list[bytes]) -> None:
    """The same for bytes that are nearly a stream."""
    data = b"".join(pieces)

    assert decode(data, 1)[0] == decode(data, len(data) or 1)[0]
