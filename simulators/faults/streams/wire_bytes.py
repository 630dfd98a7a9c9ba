"""Streams whose bytes are allowed and rare: other line ends, comments, cuts inside a character."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from typing_extensions import override

from simulators.faults.fault import EVERY_FORMAT, Fault
from simulators.vendors.hooks import FaultHooks, OutgoingAnswer

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
KEEPALIVE = b": OPENROUTER PROCESSING\r\n\r\n"
_DATA = b"data: "
# The first byte of a character that has more of them.
_LEAD = re.compile(rb"(?<=[\xc2-\xf4])")


class Keepalives(FaultHooks):
    """Lines end in CRLF, and comments stand between the events."""

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if outgoing.media_type != EVENTS:
            return outgoing
        lines = (chunk.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for chunk in outgoing.chunks)
        return replace(outgoing, chunks=[piece for line in lines for piece in (KEEPALIVE, line)])


@dataclass(frozen=True, slots=True)
class SplitCharacters(FaultHooks):
    """Characters are sent as UTF-8, and every one of several bytes is cut between two sendings."""

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if outgoing.media_type not in (EVENTS, LINES):
            return outgoing
        return replace(outgoing, chunks=list(_split(outgoing.chunks)))


def _split(chunks: Iterable[bytes]) -> Iterable[bytes]:
    for chunk in chunks:
        lines = b"".join(_unescaped(line) for line in chunk.splitlines(keepends=True))
        yield from _LEAD.split(lines)


def _unescaped(line: bytes) -> bytes:
    """The line with its characters as they are, where they stand as escapes."""
    prefix = _DATA if line.startswith(_DATA) else b""
    end = line[len(line.rstrip()) :]
    try:
        body = json.loads(line.removeprefix(prefix))
        return prefix + json.dumps(body, ensure_ascii=False).encode() + end
    except (ValueError, UnicodeEncodeError):
        # No JSON, or half of a surrogate pair: only an escape can say that.
        return line


FAULTS = (
    Fault(
        "crlf-keepalive",
        "D14",
        "lines end in CRLF, and comments stand between the events",
        lambda value: Keepalives(),
        EVERY_FORMAT - {"ollama"},
    ),
    Fault(
        "split-utf8",
        "D15",
        "characters of several bytes are cut between two reads",
        lambda value: SplitCharacters(),
    ),
)
