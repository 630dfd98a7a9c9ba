"""Splits a reply into the small chunks that a vendor streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from probes.adapters.anthropic.stream_writer import AnthropicStreamWriter
from probes.adapters.base import StreamWriter
from probes.adapters.gemini.stream import GeminiStreamWriter
from probes.adapters.ollama.stream import OllamaStreamWriter
from probes.adapters.openai_chat.stream_writer import OpenAIStreamWriter
from probes.adapters.openai_responses.stream_writer import ResponsesStreamWriter
from probes.events import Event, PartDelta
from probes.messages import Reply
from probes.streams.assembler import reply_events

PIECE_LENGTH = 12
MEDIA_TYPES = {"ollama": "application/x-ndjson"}

# The answer's id and model are known from the first byte on.
WRITERS: Mapping[str, Callable[[Reply], StreamWriter]] = {
    "openai": lambda reply: OpenAIStreamWriter(reply.id, reply.model or "", int(time.time())),
    "openai_responses": lambda reply: ResponsesStreamWriter(reply.id, reply.model or ""),
    "anthropic": lambda reply: AnthropicStreamWriter(reply.id, reply.model or ""),
    "gemini": lambda reply: GeminiStreamWriter(),
    "ollama": lambda reply: OllamaStreamWriter(reply.model or ""),
}


def split_reply_events(reply: Reply) -> list[Event]:
    """The events of a reply, with its texts in pieces."""
    return [piece for event in reply_events(reply) for piece in _split_event(event)]


def write_chunks(wire_format: str, reply: Reply, events: Iterable[Event]) -> list[bytes]:
    """The bytes of a stream, one chunk per send."""
    writer = WRITERS[wire_format](reply)
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
