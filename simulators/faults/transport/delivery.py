"""Faults of delivery: answers that are late, break off, never end, or are not answers."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from typing_extensions import override

from probes.outcomes import Metric
from simulators.faults.effects import NOTHING_KNOWN
from simulators.faults.fault import Effect, Fault
from simulators.faults.fault_switch import SwitchError
from simulators.faults.transport import outages
from simulators.faults.transport.outages import NO_VERDICT
from simulators.vendors.hooks import AnswerEnd, FaultHooks, OutgoingAnswer

MEGABYTE = 1024 * 1024
BLOCK = 64 * 1024
OVERSIZE = 100
STREAMS = ("text/event-stream", "application/x-ndjson")
ENDLESS_GAP = 0.02
DRIP_GAP = 1


@dataclass(frozen=True, slots=True)
class DeliveryChange(FaultHooks):
    """Changes the answer as it goes out."""

    change: Callable[[OutgoingAnswer, random.Random], OutgoingAnswer]

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        return self.change(outgoing, rng)


def is_stream(outgoing: OutgoingAnswer) -> bool:
    """Whether the answer is sent in pieces; Gemini's list of chunks has a JSON media type."""
    return len(outgoing.chunks) > 1 or outgoing.media_type in STREAMS


def _slow_answer(value: float) -> FaultHooks:
    return DeliveryChange(lambda outgoing, rng: replace(outgoing, wait=outgoing.wait + value))


def _slow_first_chunk(value: float) -> FaultHooks:
    def change(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if is_stream(outgoing):
            return replace(outgoing, think=outgoing.think + value)
        return replace(outgoing, wait=outgoing.wait + value)

    return DeliveryChange(change)


def _slow_chunks(value: float) -> FaultHooks:
    return DeliveryChange(lambda outgoing, rng: replace(outgoing, gap=outgoing.gap + value))


def _end_early(end: AnswerEnd) -> Callable[[float], FaultHooks]:
    """Send a part of the answer, then end it that way."""

    def make(share: float) -> FaultHooks:
        if share > 1:
            raise SwitchError(f"{share:g} is no share of an answer; give a number from 0 to 1.")

        def change(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
            headers = dict(outgoing.headers)
            if not is_stream(outgoing):
                headers["content-length"] = str(sum(map(len, outgoing.chunks)))
            chunks = _take_share(outgoing.chunks, share)
            return replace(outgoing, chunks=chunks, headers=headers, end=end)

        return DeliveryChange(change)

    return make


def _take_share(chunks: Sequence[bytes], share: float) -> list[bytes]:
    """That share of an answer's chunks, with the last one cut."""
    place = share * len(chunks)
    whole = int(place)
    rest = chunks[whole][: int((place - whole) * len(chunks[whole]))] if place > whole else b""
    return [*chunks[:whole], *([rest] if rest else [])]


def _endless_answer(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    """A stream that repeats one chunk, or a body that is never closed."""
    if is_stream(outgoing):
        middle = len(outgoing.chunks) // 2
        repeated = outgoing.chunks[middle]
        chunks = [*outgoing.chunks[:middle], repeated * (BLOCK // len(repeated))]
    else:
        chunks = [b"".join(outgoing.chunks)[:-1], b" " * BLOCK]
    # Without a pause one reader would keep a CPU busy.
    return replace(
        outgoing, chunks=chunks, gap=max(outgoing.gap, ENDLESS_GAP), end=AnswerEnd.ENDLESS
    )


def _drip_answer(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    return replace(outgoing, chunks=[b"\n"], gap=DRIP_GAP, end=AnswerEnd.ENDLESS)


def _oversize_answer(value: float) -> FaultHooks:
    blocks = int(value * MEGABYTE) // BLOCK

    def change(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        # The same block repeated, so that nothing of that size is held in memory.
        padding = [b"x" * BLOCK] * blocks
        if outgoing.media_type == "text/event-stream":
            return replace(outgoing, chunks=[b": ", *padding, b"\n\n", *outgoing.chunks])
        if outgoing.media_type == "application/x-ndjson":
            return replace(outgoing, chunks=[b'{"padding":"', *padding, b'"}\n', *outgoing.chunks])
        if is_stream(outgoing):
            return replace(outgoing, chunks=[b" " * BLOCK] * blocks + list(outgoing.chunks))
        body = outgoing.chunks[0].lstrip()
        chunks = [b'{"padding":"', *padding, b'",' + body[1:]]
        length = str(sum(map(len, chunks)))
        return replace(
            outgoing, chunks=chunks, headers={**outgoing.headers, "content-length": length}
        )

    return DeliveryChange(change)


def _wrong_type(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    kind = "application/json" if outgoing.media_type in STREAMS else "text/html"
    return replace(outgoing, media_type=kind)


def _random_bytes(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    # The first byte is invalid in UTF-8, whatever the random bytes are.
    return _replace_body(outgoing, b"\xff" + rng.randbytes(1023))


def _gzip_bomb(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    packed = _replace_body(outgoing, _bomb())
    return replace(packed, headers={**packed.headers, "content-encoding": "gzip"})


@cache
def _bomb() -> bytes:
    # Gzip members can be concatenated: 200 KB on the wire, 200 MB unpacked.
    return gzip.compress(b" " * MEGABYTE) * 200


def _not_an_object(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    data = b'["ok"]'
    if outgoing.media_type == "text/event-stream":
        data = b"data: " + data + b"\n\n"
    return _replace_body(outgoing, data)


def _empty_body(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    return _replace_body(outgoing, b"")


def _replace_body(outgoing: OutgoingAnswer, data: bytes) -> OutgoingAnswer:
    """A successful answer with another body."""
    headers = {key: outgoing.headers[key] for key in outgoing.headers if key != "content-length"}
    return replace(outgoing, chunks=[data], status=200, headers=headers)


def _plain_fault(
    name: str,
    symptom: str,
    change: Callable[[OutgoingAnswer, random.Random], OutgoingAnswer],
    effect: Effect = NO_VERDICT,
) -> Fault:
    hooks = DeliveryChange(change)
    return Fault(name, "", symptom, lambda value: hooks, effect=effect)


def _valued_fault(
    name: str,
    symptom: str,
    make: Callable[[float], FaultHooks],
    value: tuple[float, str],
    effect: Effect,
) -> Fault:
    default, meaning = value

    def hooks(switch_value: float | None) -> FaultHooks:
        return make(default if switch_value is None else switch_value)

    return Fault(name, "", symptom, hooks, effect=effect, value=f"{meaning} ({default:g})")


_HALF_OF_ANSWER = (0.5, "share of the answer that arrives")

FAULTS = (
    _valued_fault("slow", "nothing, then the answer", _slow_answer, (2, "seconds"), Effect()),
    _valued_fault(
        "thinking",
        "the head of a stream, nothing, then the rest; a whole answer comes late",
        _slow_first_chunk,
        (1, "seconds"),
        Effect(),
    ),
    _valued_fault(
        "slow-chunks", "pauses in a stream", _slow_chunks, (0.2, "seconds between chunks"), Effect()
    ),
    _valued_fault(
        "stall",
        "a part of the answer, then silence",
        _end_early(AnswerEnd.HANG),
        _HALF_OF_ANSWER,
        NO_VERDICT,
    ),
    _valued_fault(
        "cut",
        "a part of the answer, then the end of the connection",
        _end_early(AnswerEnd.CUT),
        _HALF_OF_ANSWER,
        NO_VERDICT,
    ),
    _plain_fault("endless", "a stream or body without an end", _endless_answer),
    _plain_fault("drip", "a line break a second, for ever", _drip_answer),
    _valued_fault(
        "oversize",
        "an answer behind padding",
        _oversize_answer,
        (OVERSIZE, "megabytes"),
        NO_VERDICT,
    ),
    _plain_fault(
        "wrong-content-type",
        "JSON as text/html, a stream as application/json",
        _wrong_type,
        Effect(),
    ),
    _plain_fault("garbage", "200 with random bytes", _random_bytes),
    _plain_fault("gzip-bomb", "200 KB that unpack to 200 MB", _gzip_bomb),
    _plain_fault(
        "not-an-object",
        "200 with a JSON list",
        _not_an_object,
        # A whole answer breaks its format; a stream has no proper end.
        Effect({Metric.PARSE_SUCCESS: 1, Metric.AVAILABILITY: None}, NOTHING_KNOWN),
    ),
    _plain_fault("empty-body", "200 with nothing in it", _empty_body),
    *outages.FAULTS,
)
