"""Excerpts of a file around its mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dashboard.core import safe_text
from dashboard.endpoints.as_code.file_errors import Mistake

CONTEXT_LINES = 1
MAX_LINE = 160


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    number: int
    text: str
    mistakes: Sequence[Mistake] = ()


def excerpts(text: str, mistakes: Sequence[Mistake]) -> list[list[ExcerptLine]]:
    """The lines with mistakes and their neighbours; adjacent lines form one excerpt."""
    lines = text.replace("\r\n", "\n").split("\n")
    by_line: dict[int, list[Mistake]] = {}
    for mistake in mistakes:
        # A mistake after the last line is shown at the last line.
        by_line.setdefault(min(mistake.line, len(lines)), []).append(mistake)
    return [
        list(_excerpt_lines(lines, numbers, by_line))
        for numbers in _group_lines(by_line, len(lines))
    ]


def _group_lines(mistaken: Iterable[int], last: int) -> list[list[int]]:
    """The numbers of the lines to show, grouped without gaps."""
    near = {each + step for each in mistaken for step in range(-CONTEXT_LINES, CONTEXT_LINES + 1)}
    runs: list[list[int]] = []
    for number in sorted(each for each in near if 1 <= each <= last):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _excerpt_lines(
    lines: Sequence[str], numbers: Sequence[int], by_line: Mapping[int, Sequence[Mistake]]
) -> Iterator[ExcerptLine]:
    for number in numbers:
        mistakes = by_line.get(number, ())
        yield ExcerptLine(
            number, _clip_line(lines[number - 1], mistakes[0].column if mistakes else 1), mistakes
        )


def _clip_line(line: str, column: int) -> str:
    """The line, or the part of a long line around the mistake."""
    if len(line) <= MAX_LINE:
        return safe_text.visible(line)
    start = max(0, min(column - MAX_LINE // 2, len(line) - MAX_LINE))
    end = start + MAX_LINE
    before, after = "…" if start else "", "…" if end < len(line) else ""
    return f"{before}{safe_text.visible(line[start:end])}{after}"
