"""Trouble on the way: answers that are late, break off, never end, or are no answers at all."""

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
    """Whether the answer comes in pieces; Gemini's list of chunks is called JSON."""
    return len(outgoing.chunks) > 1 or outgoing.media_type in STREAMS


def _slow(value: float) -> FaultHooks:
    return DeliveryChange(lambda outgoing, rng: replace(outgoing, wait=outgoing.wait + value))


def _thinking(value: float) -> FaultHooks:
    def change(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if is_stream(outgoing):
            return replace(outgoing, think=outgoing.think + value)
        return replace(outgoing, wait=outgoing.wait + value)

    return DeliveryChange(change)


def _slow_chunks(value: float) -> FaultHooks:
    return DeliveryChange(lambda outgoing, rng: replace(outgoing, gap=outgoing.gap + value))


def _broken(end: AnswerEnd) -> Callable[[float], FaultHooks]:
    """A part of the answer, and then that end."""

    def make(share: float) -> FaultHooks:
        if share > 1:
            raise SwitchError(f"{share:g} is no share of an answer; give a number from 0 to 1.")

        def change(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
            headers = dict(outgoing.headers)
            if not is_stream(outgoing):
                headers["content-length"] = str(sum(map(len, outgoing.chunks)))
            chunks = _part(outgoing.chunks, share)
            return replace(outgoing, chunks=chunks, headers=headers, end=end)

        return DeliveryChange(change)

    return make


def _part(chunks: Sequence[bytes], share: float) -> list[bytes]:
    """That share of an answer; its last piece is cut as well."""
    place = share * len(chunks)
    whole = int(place)
    rest = chunks[whole][: int((place - whole) * len(chunks[whole]))] if place > whole else b""
    return [*chunks[:whole], *([rest] if rest else [])]


def _endless(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    """A stream that says the same again and again, or a body that is never closed."""
    if is_stream(outgoing):
        middle = len(outgoing.chunks) // 2
        again = outgoing.chunks[middle]
        chunks = [*outgoing.chunks[:middle], again * (BLOCK // len(again))]
    else:
        chunks = [b"".join(outgoing.chunks)[:-1], b" " * BLOCK]
    # Without a pause one reader would keep a processor busy.
    return replace(
        outgoing, chunks=chunks, gap=max(outgoing.gap, ENDLESS_GAP), end=AnswerEnd.ENDLESS
    )


def _drip(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    return replace(outgoing, chunks=[b"\n"], gap=DRIP_GAP, end=AnswerEnd.ENDLESS)


def _oversize(value: float) -> FaultHooks:
    blocks = int(value * MEGABYTE) // BLOCK

    def change(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        # The same block again and again: nothing of that size is ever held.
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


def _garbage(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    # The first byte stands in no text of UTF-8, whatever the dice say.
    return _instead(outgoing, b"\xff" + rng.randbytes(1023))


def _gzip_bomb(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    packed = _instead(outgoing, _bomb())
    return replace(packed, headers={**packed.headers, "content-encoding": "gzip"})


@cache
def _bomb() -> bytes:
    # Gzip members may be strung together: 200 KB on the wire, 200 MB unpacked.
    return gzip.compress(b" " * MEGABYTE) * 200


def _not_an_object(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    data = b'["ok"]'
    if outgoing.media_type == "text/event-stream":
        data = b"data: " + data + b"\n\n"
    return _instead(outgoing, data)


def _empty_body(outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
    return _instead(outgoing, b"")


def _instead(outgoing: OutgoingAnswer, data: bytes) -> OutgoingAnswer:
    """A success that carries other bytes."""
    headers = {key: outgoing.headers[key] for key in outgoing.headers if key != "content-length"}
    return replace(outgoing, chunks=[data], status=200, headers=headers)


def _plain(
    name: str,
    shows: str,
    change: Callable[[OutgoingAnswer, random.Random], OutgoingAnswer],
    effect: Effect = NO_VERDICT,
) -> Fault:
    hooks = DeliveryChange(change)
    return Fault(name, "", shows, lambda value: hooks, effect=effect)


def _valued(
    name: str,
    shows: str,
    make: Callable[[float], FaultHooks],
    value: tuple[float, str],
    effect: Effect,
) -> Fault:
    usual, means = value

    def hooks(given: float | None) -> FaultHooks:
        return make(usual if given is None else given)

    return Fault(name, "", shows, hooks, effect=effect, value=f"{means} ({usual:g})")


_HALF = (0.5, "share of the answer that arrives")

FAULTS = (
    _valued("slow", "nothing, then the answer", _slow, (2, "seconds"), Effect()),
    _valued(
        "thinking",
        "the head of a stream, nothing, then the rest; a whole answer comes late",
        _thinking,
        (1, "seconds"),
        Effect(),
    ),
    _valued(
        "slow-chunks", "pauses in a stream", _slow_chunks, (0.2, "seconds between chunks"), Effect()
    ),
    _valued(
        "stall", "a part of the answer, then silence", _broken(AnswerEnd.HANG), _HALF, NO_VERDICT
    ),
    _valued(
        "cut",
        "a part of the answer, then the end of the connection",
        _broken(AnswerEnd.CUT),
        _HALF,
        NO_VERDICT,
    ),
    _plain("endless", "a stream or body without an end", _endless),
    _plain("drip", "a line break a second, for ever", _drip),
    _valued("oversize", "an answer behind padding", _oversize, (OVERSIZE, "megabytes"), NO_VERDICT),
    _plain(
        "wrong-content-type",
        "JSON as text/html, a stream as application/json",
        _wrong_type,
        Effect(),
    ),
    _plain("garbage", "200 with random bytes", _garbage),
    _plain("gzip-bomb", "200 KB that unpack to 200 MB", _gzip_bomb),
    _plain(
        "not-an-object",
        "200 with a JSON list",
        _not_an_object,
        Effect({Metric.PARSE_SUCCESS: 1}, NOTHING_KNOWN),
    ),
    _plain("empty-body", "200 with nothing in it", _empty_body),
    *outages.FAULTS,
)
