"""A bounded diff of two texts, side by side, with the differing words of a line marked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from dashboard.core.safe_text import TextPiece, visible

# Comparing costs up to the product of both lengths; difflib itself ignores very frequent lines.
MAX_LINES = 1500
MAX_WIDTH = 4000
_CONTEXT = 3
_MAX_DETAILED_PAIRS = 150
_MAX_WORDS = 400
_MAX_ROWS = 800
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

EQUAL, CHANGED, ADDED, REMOVED, FOLDED = "equal", "changed", "added", "removed", "folded"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of one text; marked pieces are not in the other text."""

    number: int
    pieces: tuple[TextPiece, ...]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """A line of both texts or of one, or a number of folded equal lines."""

    kind: str
    left: DiffLine | None = None
    right: DiffLine | None = None
    folded: int = 0


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The rows of a diff; `is_truncated` if a text was too long to be compared completely."""

    rows: tuple[DiffRow, ...]
    changes: int
    is_truncated: bool

    @property
    def is_equal(self) -> bool:
        return not self.changes


def diff_texts(left: str, right: str) -> TextDiff:
    left_lines, left_truncated = _split_lines(left)
    right_lines, right_truncated = _split_lines(right)
    matcher = SequenceMatcher(None, left_lines, right_lines)
    rows: list[DiffRow] = []
    changes = pairs = 0
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            equal = [_equal_row(left_lines[i1 + n], i1 + n, j1 + n) for n in range(i2 - i1)]
            is_last = i2 == len(left_lines)
            rows += _fold_equal_rows(equal, is_after_change=i1 > 0, is_before_change=not is_last)
            continue
        changes += max(i2 - i1, j2 - j1)
        pairs += min(i2 - i1, j2 - j1)
        for step in range(max(i2 - i1, j2 - j1)):
            one = (i1 + step, left_lines[i1 + step]) if step < i2 - i1 else None
            other = (j1 + step, right_lines[j1 + step]) if step < j2 - j1 else None
            rows.append(_changed_row(one, other, mark_words=pairs <= _MAX_DETAILED_PAIRS))
    is_truncated = left_truncated or right_truncated or len(rows) > _MAX_ROWS
    return TextDiff(tuple(rows[:_MAX_ROWS]), changes, is_truncated)


def _split_lines(text: str) -> tuple[list[str], bool]:
    lines = text.split("\n")
    shown = lines[:MAX_LINES]
    is_truncated = len(lines) > MAX_LINES or any(len(line) > MAX_WIDTH for line in shown)
    return [line[:MAX_WIDTH] for line in shown], is_truncated


def _fold_equal_rows(
    rows: list[DiffRow], *, is_after_change: bool, is_before_change: bool
) -> list[DiffRow]:
    """Keep the equal lines next to a change and fold the others into one row."""
    first = _CONTEXT if is_after_change else 0
    last = len(rows) - (_CONTEXT if is_before_change else 0)
    if last - first < 2:
        return rows
    return [*rows[:first], DiffRow(FOLDED, folded=last - first), *rows[last:]]


def _equal_row(line: str, left: int, right: int) -> DiffRow:
    pieces = (TextPiece(visible(line)),)
    return DiffRow(EQUAL, DiffLine(left + 1, pieces), DiffLine(right + 1, pieces))


def _changed_row(
    one: tuple[int, str] | None, other: tuple[int, str] | None, *, mark_words: bool
) -> DiffRow:
    if one is None or other is None:
        left = DiffLine(one[0] + 1, (TextPiece(visible(one[1])),)) if one else None
        right = DiffLine(other[0] + 1, (TextPiece(visible(other[1])),)) if other else None
        return DiffRow(REMOVED if left else ADDED, left, right)
    left_pieces, right_pieces = (
        _mark_words(one[1], other[1]) if mark_words else _mark_lines(one[1], other[1])
    )
    return DiffRow(CHANGED, DiffLine(one[0] + 1, left_pieces), DiffLine(other[0] + 1, right_pieces))


def _mark_words(one: str, other: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    left_words, right_words = _WORD.findall(one), _WORD.findall(other)
    if len(left_words) > _MAX_WORDS or len(right_words) > _MAX_WORDS:
        return _mark_lines(one, other)
    left: list[TextPiece] = []
    right: list[TextPiece] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, left_words, right_words).get_opcodes():
        mark = "" if kind == "equal" else "differs"
        left += [TextPiece(visible("".join(left_words[i1:i2])), mark)] if i2 > i1 else []
        right += [TextPiece(visible("".join(right_words[j1:j2])), mark)] if j2 > j1 else []
    return tuple(left), tuple(right)


def _mark_lines(one: str, other: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    return (TextPiece(visible(one), "differs"),), (TextPiece(visible(other), "differs"),)
