"""Streams with valid but rare bytes: other line ends, comments, splits inside a character."""

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
# The position after the first byte of a multi-byte character.
_LEAD_BYTE = re.compile(rb"(?<=[\xc2-\xf4])")


class Keepalives(FaultHooks):
    """Ends lines in CRLF and sends comments between the events."""

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if outgoing.media_type != EVENTS:
            return outgoing
        lines = (chunk.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for chunk in outgoing.chunks)
        return replace(outgoing, chunks=[piece for line in lines for piece in (KEEPALIVE, line)])


@dataclass(frozen=True, slots=True)
class SplitCharacters(FaultHooks):
    """Sends characters as UTF-8 and splits every multi-byte one between two chunks."""

    @override
    def outgoing(self, outgoing: OutgoingAnswer, rng: random.Random) -> OutgoingAnswer:
        if outgoing.media_type not in (EVENTS, LINES):
            return outgoing
        return replace(outgoing, chunks=list(_split_characters(outgoing.chunks)))


def _split_characters(chunks: Iterable[bytes]) -> Iterable[bytes]:
    for chunk in chunks:
        lines = b"".join(_unescape_line(line) for line in chunk.splitlines(keepends=True))
        yield from _LEAD_BYTE.split(lines)


def _unescape_line(line: bytes) -> bytes:
    """The line with its JSON escapes replaced by the characters."""
    prefix = _DATA if line.startswith(_DATA) else b""
    end = line[len(line.rstrip()) :]
    try:
        body = json.loads(line.removeprefix(prefix))
        return prefix + json.dumps(body, ensure_ascii=False).encode() + end
    except (ValueError, UnicodeEncodeError):
        # Not JSON, or a lone surrogate, which only an escape can represent.
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
