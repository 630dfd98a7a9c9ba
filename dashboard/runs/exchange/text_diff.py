"""Two texts side by side, line by line, with what differs inside a line marked. Bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from dashboard.core.safe_text import TextPiece, visible

# Comparing costs up to the product of both lengths; difflib itself looks past lines that abound.
LINES = 1500
WIDTH = 4000
_CONTEXT = 3
_PAIRS = 150
_WORDS = 400
_ROWS = 800
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

EQUAL, CHANGED, ADDED, REMOVED, FOLDED = "equal", "changed", "added", "removed", "folded"


@dataclass(frozen=True, slots=True)
class Side:
    """A line of one text; pieces with a mark are what the other text does not have."""

    number: int
    pieces: tuple[TextPiece, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of both texts, or of one, or how many equal lines are folded."""

    kind: str
    left: Side | None = None
    right: Side | None = None
    folded: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The rows of a comparison; `cut` says that a text was too long to be compared whole."""

    rows: tuple[Row, ...]
    changes: int
    cut: bool

    @property
    def is_equal(self) -> bool:
        return not self.changes


def compare(left: str, right: str) -> Difference:
    """What differs between two texts."""
    ours, cut_left = _lines(left)
    theirs, cut_right = _lines(right)
    matcher = SequenceMatcher(None, ours, theirs)
    rows: list[Row] = []
    changes = pairs = 0
    for kind, i1, i2, j1, j2 in matcher.get_opcodes():
        if kind == "equal":
            same = [_equal(ours[i1 + n], i1 + n, j1 + n) for n in range(i2 - i1)]
            rows += _folded(same, follows=i1 > 0, goes_on=i2 < len(ours))
            continue
        changes += max(i2 - i1, j2 - j1)
        both = min(i2 - i1, j2 - j1)
        pairs += both
        for step in range(max(i2 - i1, j2 - j1)):
            one = (i1 + step, ours[i1 + step]) if step < i2 - i1 else None
            other = (j1 + step, theirs[j1 + step]) if step < j2 - j1 else None
            rows.append(_row(one, other, in_detail=pairs <= _PAIRS))
    return Difference(tuple(rows[:_ROWS]), changes, cut_left or cut_right or len(rows) > _ROWS)


def _lines(text: str) -> tuple[list[str], bool]:
    lines = text.split("\n")
    kept = [line[:WIDTH] for line in lines[:LINES]]
    return kept, len(lines) > LINES or any(len(line) > WIDTH for line in lines[:LINES])


def _folded(rows: list[Row], *, follows: bool, goes_on: bool) -> list[Row]:
    """Equal lines: those next to a change are shown, the rest is one row."""
    first = _CONTEXT if follows else 0
    last = len(rows) - (_CONTEXT if goes_on else 0)
    if last - first < 2:
        return rows
    return [*rows[:first], Row(FOLDED, folded=last - first), *rows[last:]]


def _equal(line: str, left: int, right: int) -> Row:
    pieces = (TextPiece(visible(line)),)
    return Row(EQUAL, Side(left + 1, pieces), Side(right + 1, pieces))


def _row(one: tuple[int, str] | None, other: tuple[int, str] | None, *, in_detail: bool) -> Row:
    if one is None or other is None:
        left = Side(one[0] + 1, (TextPiece(visible(one[1])),)) if one else None
        right = Side(other[0] + 1, (TextPiece(visible(other[1])),)) if other else None
        return Row(REMOVED if left else ADDED, left, right)
    left_pieces, right_pieces = _inside(one[1], other[1]) if in_detail else _whole(one[1], other[1])
    return Row(CHANGED, Side(one[0] + 1, left_pieces), Side(other[0] + 1, right_pieces))


def _inside(one: str, other: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    ours, theirs = _WORD.findall(one), _WORD.findall(other)
    if len(ours) > _WORDS or len(theirs) > _WORDS:
        return _whole(one, other)
    left: list[TextPiece] = []
    right: list[TextPiece] = []
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, ours, theirs).get_opcodes():
        mark = "" if kind == "equal" else "differs"
        left += [TextPiece(visible("".join(ours[i1:i2])), mark)] if i2 > i1 else []
        right += [TextPiece(visible("".join(theirs[j1:j2])), mark)] if j2 > j1 else []
    return tuple(left), tuple(right)


def _whole(one: str, other: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    return (TextPiece(visible(one), "differs"),), (TextPiece(visible(other), "differs"),)
