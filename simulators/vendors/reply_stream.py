"""Splits a reply into the small chunks that a vendor streams."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from probes.adapters import FORMATS
from probes.events import Event, PartDelta, ReplyHead
from probes.messages import Reply
from probes.streams.assembler import reply_events

PIECE_LENGTH = 12
MEDIA_TYPES = {"ollama": "application/x-ndjson"}


def split_reply_events(reply: Reply) -> list[Event]:
    """The events of a reply, with its texts in pieces."""
    return [piece for event in reply_events(reply) for piece in _split_event(event)]


def write_chunks(wire_format: str, reply: Reply, events: Iterable[Event]) -> list[bytes]:
    """The bytes of a stream, one chunk per send."""
    # The answer's id and model are known from the first byte on.
    head = ReplyHead(reply.id, reply.model or "", int(time.time()))
    writer = FORMATS[wire_format].write_stream(head)
    return [data for event in events if (data := writer.write(event))]


def as_json_list(chunks: Sequence[bytes]) -> list[bytes]:
    """Gemini's stream for a client that did not request events: one JSON list in pieces."""
    bodies = [chunk.removeprefix(b"data: ").strip() for chunk in chunks]
    return [b"[" + bodies[0], *(b",\n" + body for body in bodies[1:]), b"]"]


def media_type(wire_format: str) -> str:
    return MEDIA_TYPES.get(wire_format, "text/event-stream")


def _split_event(event: Event) -> Iterator[Event]:
    if not isinstance(event, PartDelta):
        yield event
        return
    for begin in range(0, len(event.text), PIECE_LENGTH):
        yield PartDelta(event.index, event.text[begin : begin + PIECE_LENGTH])
