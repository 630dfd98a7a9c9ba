"""When the chunks of a streamed reply arrived: a small bar chart, and pages of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from math import sqrt

from dashboard.core.safe_text import clip, visible
from probes.http_messages import Chunk

# Bounds the page for any number of chunks.
MAX_BARS = 120
PAGE_SIZE = 100
_HEIGHT = 40.0
_MIN_HEIGHT = 3.0
_MAX_TEXT = 400


@dataclass(frozen=True, slots=True)
class Bar:
    """The bytes that arrived in one interval."""

    x: int
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """The arrival of a stream; times are milliseconds since the start of the request."""

    bars: tuple[Bar, ...]
    count: int
    first_ms: int
    last_ms: int
    gap_ms: int
    gap_after: int  # the number of the chunk before the longest gap


@dataclass(frozen=True, slots=True)
class ChunkRow:
    number: int
    ms: int
    gap_ms: int
    size: int
    total: int
    text: str


@dataclass(frozen=True, slots=True)
class ChunkPage:
    rows: tuple[ChunkRow, ...]
    number: int
    pages: int
    count: int

    @property
    def before(self) -> int | None:
        return self.number - 1 if self.number > 1 else None

    @property
    def after(self) -> int | None:
        return self.number + 1 if self.number < self.pages else None


def build_timeline(chunks: Sequence[Chunk]) -> Timeline | None:
    """The timeline of a stream; None if it came in a single chunk."""
    if len(chunks) < 2:
        return None
    gaps = [after.ms - before.ms for before, after in pairwise(chunks)]
    longest = max(gaps)
    return Timeline(
        bars=_build_bars(chunks),
        count=len(chunks),
        first_ms=chunks[0].ms,
        last_ms=chunks[-1].ms,
        gap_ms=longest,
        gap_after=gaps.index(longest) + 1,
    )


def build_chunk_page(chunks: Sequence[Chunk], number: int) -> ChunkPage:
    """One page of the table; a number beyond the last page gives the last page."""
    pages = max(1, -(-len(chunks) // PAGE_SIZE))
    number = min(max(1, number), pages)
    first = (number - 1) * PAGE_SIZE
    totals = accumulate(len(chunk.data) for chunk in chunks)
    rows = [
        _build_row(chunks, index, total)
        for index, total in islice(enumerate(totals), first, first + PAGE_SIZE)
    ]
    return ChunkPage(tuple(rows), number, pages, len(chunks))


def _build_row(chunks: Sequence[Chunk], index: int, total: int) -> ChunkRow:
    chunk = chunks[index]
    previous_ms = chunks[index - 1].ms if index else 0
    text = chunk.data.decode("utf-8", "backslashreplace")
    size = len(chunk.data)
    return ChunkRow(
        index + 1, chunk.ms, chunk.ms - previous_ms, size, total, visible(clip(text, _MAX_TEXT))
    )


def _build_bars(chunks: Sequence[Chunk]) -> tuple[Bar, ...]:
    first = chunks[0].ms
    span = max(1, chunks[-1].ms - first)
    sizes = [0] * MAX_BARS
    for chunk in chunks:
        slot = min(MAX_BARS - 1, max(0, (chunk.ms - first) * MAX_BARS // span))
        sizes[slot] += len(chunk.data)
    # Height grows with the square root of the size, so one large chunk does not hide small ones.
    tallest = sqrt(max(sizes)) or 1
    heights = [max(_MIN_HEIGHT, _HEIGHT * sqrt(size) / tallest) if size else 0 for size in sizes]
    return tuple(
        Bar(slot * 5, round(_HEIGHT - height, 1), round(height, 1))
        for slot, height in enumerate(heights)
        if height
    )
