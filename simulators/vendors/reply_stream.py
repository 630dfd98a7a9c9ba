"""A reply cut into the small pieces that a vendor streams."""

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

PIECE = 12
MEDIA_TYPES = {"ollama": "application/x-ndjson"}

# A vendor knows its answer's id and model from the first byte on.
WRITERS: Mapping[str, Callable[[Reply], StreamWriter]] = {
    "openai": lambda reply: OpenAIStreamWriter(reply.id, reply.model or "", int(time.time())),
    "openai_responses": lambda reply: ResponsesStreamWriter(reply.id, reply.model or ""),
    "anthropic": lambda reply: AnthropicStreamWriter(reply.id, reply.model or ""),
    "gemini": lambda reply: GeminiStreamWriter(),
    "ollama": lambda reply: OllamaStreamWriter(reply.model or ""),
}


def split_reply_events(reply: Reply) -> list[Event]:
    """The events of a reply, its texts in pieces."""
    return [piece for event in reply_events(reply) for piece in _pieces(event)]


def write_chunks(form: str, reply: Reply, events: Iterable[Event]) -> list[bytes]:
    """The bytes of a stream, one chunk for each time the vendor sends."""
    writer = WRITERS[form](reply)
    return [data for event in events if (data := writer.write(event))]


def as_json_list(chunks: Sequence[bytes]) -> list[bytes]:
    """Gemini's stream for a client that did not ask for events: one list in pieces."""
    bodies = [chunk.removeprefix(b"data: ").strip() for chunk in chunks]
    return [b"[" + bodies[0], *(b",\n" + body for body in bodies[1:]), b"]"]


def media_type(form: str) -> str:
    return MEDIA_TYPES.get(form, "text/event-stream")


def _pieces(event: Event) -> Iterator[Event]:
    if not isinstance(event, PartDelta):
        yield event
        return
    for begin in range(0, len(event.text), PIECE):
        yield PartDelta(event.index, event.text[begin : begin + PIECE])
