"""Mistakes shown against the text they stand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboard import inert
from dashboard.as_code.mistakes import Mistake

AROUND = 1
LONGEST = 160


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines about one line that is wrong, and all that is wrong with it."""

    line: int
    mistakes: Sequence[Mistake]
    lines: Sequence[Line]


def excerpts(text: str, mistakes: Sequence[Mistake]) -> list[Excerpt]:
    """One excerpt a line that is wrong, in the order of the text."""
    lines = text.replace("\r\n", "\n").split("\n")
    by_line: dict[int, list[Mistake]] = {}
    for mistake in mistakes:
        by_line.setdefault(mistake.line, []).append(mistake)
    return [
        Excerpt(number, found, list(_around(lines, number, found[0].column)))
        for number, found in by_line.items()
    ]


def _around(lines: Sequence[str], number: int, column: int) -> Iterator[Line]:
    for each in range(number - AROUND, number + AROUND + 1):
        if 1 <= each <= len(lines):
            yield Line(each, _window(lines[each - 1], column), each == number)


def _window(line: str, column: int) -> str:
    """The line, or the part of a long one that the mistake is in."""
    if len(line) <= LONGEST:
        return inert.visible(line)
    start = max(0, min(column - LONGEST // 2, len(line) - LONGEST))
    end = start + LONGEST
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return f"{before}{inert.visible(line[start:end])}{after}"
