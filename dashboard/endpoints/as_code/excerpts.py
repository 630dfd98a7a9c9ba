"""Mistakes shown against the text they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.core import safe_text
from dashboard.endpoints.as_code.file_errors import Mistake

AROUND = 1
LONGEST = 160


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    text: str
    mistakes: Sequence[Mistake] = ()


def excerpts(text: str, mistakes: Sequence[Mistake]) -> list[list[Line]]:
    """The lines that are wrong with those around them; what lies close together is one excerpt."""
    lines = text.replace("\r\n", "\n").split("\n")
    by_line: dict[int, list[Mistake]] = {}
    for mistake in mistakes:
        # A place after the last line is told at the last one.
        by_line.setdefault(min(mistake.line, len(lines)), []).append(mistake)
    return [list(_lines(lines, numbers, by_line)) for numbers in _together(by_line, len(lines))]


def _together(wrong: Iterable[int], last: int) -> list[list[int]]:
    """The numbers of the lines to show, in runs without a gap."""
    near = {each + step for each in wrong for step in range(-AROUND, AROUND + 1)}
    runs: list[list[int]] = []
    for number in sorted(each for each in near if 1 <= each <= last):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _lines(
    lines: Sequence[str], numbers: Sequence[int], by_line: Mapping[int, Sequence[Mistake]]
) -> Iterator[Line]:
    for number in numbers:
        found = by_line.get(number, ())
        yield Line(number, _window(lines[number - 1], found[0].column if found else 1), found)


def _window(line: str, column: int) -> str:
    """The line, or the part of a long one that the mistake is in."""
    if len(line) <= LONGEST:
        return safe_text.visible(line)
    start = max(0, min(column - LONGEST // 2, len(line) - LONGEST))
    end = start + LONGEST
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return f"{before}{safe_text.visible(line[start:end])}{after}"
