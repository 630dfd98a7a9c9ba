"""Faults of streams in every format: the same question, asked whole, is answered well."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from typing_extensions import override

from probes.adapters import FORMATS
from probes.events import ReplyEnded
from probes.messages import Reply
from simulators.faults.fault import EVERY_FORMAT, Fault
from simulators.faults.streams.stream_fault import BROKEN_STREAM, LEAKS, REFUSED, TALKS
from simulators.faults.streams.stream_frames import detect_format, read_frames
from simulators.faults.text.json_writers import hermes
from simulators.faults.text.leak import Leak
from simulators.faults.text.prose_answers import FixedText
from simulators.model.answers import Answer
from simulators.vendors.hooks import AnswerEnd, FaultHooks, OutgoingAnswer
from simulators.vendors.spec import VendorRequest

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class StreamsOnly(FaultHooks):
    """Changes the answer of a model only if it is streamed."""

    inner: FaultHooks

    @override
    def answer(self, answer: Answer, request: VendorRequest, rng: random.Random) -> Answer:
        return self.inner.answer(answer, request, rng) if request.call.stream else answer

    @override
    def reply(self, reply: Reply, request: VendorRequest, rng: random.Random) -> Reply:
        return self.inner.reply(reply, request, rng) if request.call.stream else reply


class NotStreamed(FaultHooks):
    """Sends the whole answer as one JSON body."""

    @override
    def chunks(self, chunks: Sequence[bytes], rng: random.Random) -> Sequence[bytes]:
        adapter = FORMATS[detect_format(read_frames(chunks))]
        reader = adapter.read_stream()
        events = [event for chunk in chunks for event in reader.feed(chunk)] + reader.close()
        replies = [event.reply for event in events if isinstance(event, ReplyEnded)]
        return [json.dumps(adapter.write_reply(replies[0])).encode("ascii")]

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        is_whole = outgoing.media_type == EVENTS and outgoing.chunks[0].startswith(b"{")
        return replace(outgoing, media_type="application/json") if is_whole else outgoing


class StreamCut(FaultHooks):
    """Ends the connection in the middle of a stream."""

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if outgoing.media_type not in (EVENTS, LINES):
            return outgoing
        half = outgoing.chunks[: max(1, len(outgoing.chunks) // 2)]
        return replace(outgoing, chunks=half, end=AnswerEnd.CUT)


_LEAKS = StreamsOnly(Leak(hermes))
_TALKS = StreamsOnly(FixedText("I would use {names} for that, and this stream only talks of it."))

FAULTS: tuple[Fault, ...] = (
    Fault("stream-leak", "", "streamed calls come as text", lambda value: _LEAKS, effect=LEAKS),
    Fault("stream-prose", "", "streams talk about the call", lambda value: _TALKS, effect=TALKS),
    Fault(
        "not-streamed",
        "",
        "a whole JSON answer where a stream was asked for",
        lambda value: NotStreamed(),
        EVERY_FORMAT - {"ollama"},
        REFUSED,
    ),
    Fault(
        "stream-cut",
        "",
        "half of a stream, then the end of the connection",
        lambda value: StreamCut(),
        effect=BROKEN_STREAM,
    ),
)
