"""The chunks of a streamed reply on a time line: as a small picture, and as pages of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from math import sqrt

from dashboard.core.safe_text import clip, visible
from probes.http_messages import Chunk

# However many chunks there are, the picture has at most so many bars, and a page so many rows.
BARS = 120
ROWS = 100
_HEIGHT = 40.0
_LEAST = 3.0
_SHOWN = 400


@dataclass(frozen=True, slots=True)
class Bar:
    """The bytes that arrived in one part of the time."""

    x: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """When a stream arrived; times are milliseconds since the request began."""

    bars: tuple[Bar, ...]
    count: int
    first_ms: int
    last_ms: int
    gap_ms: int
    gap_after: int  # the number of the chunk before the longest silence


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    ms: int
    gap_ms: int
    size: int
    total: int
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some chunks of a stream, and which page of them this is."""

    rows: tuple[Row, ...]
    number: int
    pages: int
    count: int

    @property
    def before(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def after(self) -> int | None:
        return self.number + 1 if self.number < self.pages else None


def timeline(chunks: Sequence[Chunk]) -> Timeline | None:
    """The arrivals in one picture; None where all came at once, which shows nothing."""
    if len(chunks) < 2:
        return None
    gaps = [after.ms - before.ms for before, after in pairwise(chunks)]
    longest = max(gaps)
    return Timeline(
        bars=_bars(chunks),
        count=len(chunks),
        first_ms=chunks[0].ms,
        last_ms=chunks[-1].ms,
        gap_ms=longest,
        gap_after=gaps.index(longest) + 1,
    )


def page(chunks: Sequence[Chunk], number: int) -> Page:
    """One page of the table; a number beyond the last gives the last."""
    pages = max(1, -(-len(chunks) // ROWS))
    number = min(max(1, number), pages)
    first = (number - 1) * ROWS
    totals = accumulate(len(chunk.data) for chunk in chunks)
    rows = [
        _row(chunks, index, total)
        for index, total in islice(enumerate(totals), first, first + ROWS)
    ]
    return Page(tuple(rows), number, pages, len(chunks))


def _row(chunks: Sequence[Chunk], index: int, total: int) -> Row:
    chunk = chunks[index]
    before = chunks[index - 1].ms if index else 0
    text = chunk.data.decode("utf-8", "backslashreplace")
    size = len(chunk.data)
    return Row(index + 1, chunk.ms, chunk.ms - before, size, total, visible(clip(text, _SHOWN)))


def _bars(chunks: Sequence[Chunk]) -> tuple[Bar, ...]:
    first = chunks[0].ms
    span = max(1, chunks[-1].ms - first)
    sizes = [0] * BARS
    for chunk in chunks:
        place = min(BARS - 1, max(0, (chunk.ms - first) * BARS // span))
        sizes[place] += len(chunk.data)
    # By the root of the size: one large chunk must not hide a hundred small ones.
    most = sqrt(max(sizes)) or 1
    heights = [max(_LEAST, _HEIGHT * sqrt(size) / most) if size else 0 for size in sizes]
    return tuple(
        Bar(place * 5, round(_HEIGHT - height, 1), round(height, 1))
        for place, height in enumerate(heights)
        if height
    )
