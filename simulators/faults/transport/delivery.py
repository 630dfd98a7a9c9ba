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
from simulators.vendors.hooks import Bend, End, Sending

MEGABYTE = 1024 * 1024
BLOCK = 64 * 1024
OVERSIZE = 100
STREAMS = ("text/event-stream", "application/x-ndjson")
ENDLESS_GAP = 0.02
DRIP_GAP = 1


@dataclass(frozen=True, slots=True)
class Onward(Bend):
    """Changes the answer as it goes out."""

    change: Callable[[Sending, random.Random], Sending]

    @override
    def sending(self, sending: Sending, rng: random.Random) -> Sending:
        return self.change(sending, rng)


def streams(sending: Sending) -> bool:
    """Whether the answer comes in pieces; Gemini's list of chunks is called JSON."""
    return len(sending.chunks) > 1 or sending.media_type in STREAMS


def _slow(value: float) -> Bend:
    return Onward(lambda sending, rng: replace(sending, wait=sending.wait + value))


def _thinking(value: float) -> Bend:
    def change(sending: Sending, rng: random.Random) -> Sending:
        if streams(sending):
            return replace(sending, think=sending.think + value)
        return replace(sending, wait=sending.wait + value)

    return Onward(change)


def _slow_chunks(value: float) -> Bend:
    return Onward(lambda sending, rng: replace(sending, gap=sending.gap + value))


def _broken(end: End) -> Callable[[float], Bend]:
    """A part of the answer, and then that end."""

    def make(share: float) -> Bend:
        if share > 1:
            raise SwitchError(f"{share:g} is no share of an answer; give a number from 0 to 1.")

        def change(sending: Sending, rng: random.Random) -> Sending:
            headers = dict(sending.headers)
            if not streams(sending):
                headers["content-length"] = str(sum(map(len, sending.chunks)))
            chunks = _part(sending.chunks, share)
            return replace(sending, chunks=chunks, headers=headers, end=end)

        return Onward(change)

    return make


def _part(chunks: Sequence[bytes], share: float) -> list[bytes]:
    """That share of an answer; its last piece is cut as well."""
    place = share * len(chunks)
    whole = int(place)
    rest = chunks[whole][: int((place - whole) * len(chunks[whole]))] if place > whole else b""
    return [*chunks[:whole], *([rest] if rest else [])]


def _endless(sending: Sending, rng: random.Random) -> Sending:
    """A stream that says the same again and again, or a body that is never closed."""
    if streams(sending):
        middle = len(sending.chunks) // 2
        again = sending.chunks[middle]
        chunks = [*sending.chunks[:middle], again * (BLOCK // len(again))]
    else:
        chunks = [b"".join(sending.chunks)[:-1], b" " * BLOCK]
    # Without a pause one reader would keep a processor busy.
    return replace(sending, chunks=chunks, gap=max(sending.gap, ENDLESS_GAP), end=End.ENDLESS)


def _drip(sending: Sending, rng: random.Random) -> Sending:
    return replace(sending, chunks=[b"\n"], gap=DRIP_GAP, end=End.ENDLESS)


def _oversize(value: float) -> Bend:
    blocks = int(value * MEGABYTE) // BLOCK

    def change(sending: Sending, rng: random.Random) -> Sending:
        # The same block again and again: nothing of that size is ever held.
        padding = [b"x" * BLOCK] * blocks
        if sending.media_type == "text/event-stream":
            return replace(sending, chunks=[b": ", *padding, b"\n\n", *sending.chunks])
        if sending.media_type == "application/x-ndjson":
            return replace(sending, chunks=[b'{"padding":"', *padding, b'"}\n', *sending.chunks])
        if streams(sending):
            return replace(sending, chunks=[b" " * BLOCK] * blocks + list(sending.chunks))
        body = sending.chunks[0].lstrip()
        chunks = [b'{"padding":"', *padding, b'",' + body[1:]]
        length = str(sum(map(len, chunks)))
        return replace(
            sending, chunks=chunks, headers={**sending.headers, "content-length": length}
        )

    return Onward(change)


def _wrong_type(sending: Sending, rng: random.Random) -> Sending:
    kind = "application/json" if sending.media_type in STREAMS else "text/html"
    return replace(sending, media_type=kind)


def _garbage(sending: Sending, rng: random.Random) -> Sending:
    # The first byte stands in no text of UTF-8, whatever the dice say.
    return _instead(sending, b"\xff" + rng.randbytes(1023))


def _gzip_bomb(sending: Sending, rng: random.Random) -> Sending:
    packed = _instead(sending, _bomb())
    return replace(packed, headers={**packed.headers, "content-encoding": "gzip"})


@cache
def _bomb() -> bytes:
    # Gzip members may be strung together: 200 KB on the wire, 200 MB unpacked.
    return gzip.compress(b" " * MEGABYTE) * 200


def _not_an_object(sending: Sending, rng: random.Random) -> Sending:
    data = b'["ok"]'
    if sending.media_type == "text/event-stream":
        data = b"data: " + data + b"\n\n"
    return _instead(sending, data)


def _empty_body(sending: Sending, rng: random.Random) -> Sending:
    return _instead(sending, b"")


def _instead(sending: Sending, data: bytes) -> Sending:
    """A success that carries other bytes."""
    headers = {key: sending.headers[key] for key in sending.headers if key != "content-length"}
    return replace(sending, chunks=[data], status=200, headers=headers)


def _plain(
    name: str,
    shows: str,
    change: Callable[[Sending, random.Random], Sending],
    effect: Effect = NO_VERDICT,
) -> Fault:
    bend = Onward(change)
    return Fault(name, "", shows, lambda value: bend, effect=effect)


def _valued(
    name: str, shows: str, make: Callable[[float], Bend], value: tuple[float, str], effect: Effect
) -> Fault:
    usual, means = value

    def bend(given: float | None) -> Bend:
        return make(usual if given is None else given)

    return Fault(name, "", shows, bend, effect=effect, value=f"{means} ({usual:g})")


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
    _valued("stall", "a part of the answer, then silence", _broken(End.HANG), _HALF, NO_VERDICT),
    _valued(
        "cut",
        "a part of the answer, then the end of the connection",
        _broken(End.CUT),
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
