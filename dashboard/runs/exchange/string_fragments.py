"""Text that a reply carries inside JSON strings, often in many pieces, and where each piece stands.

A stream writes one word here and the next there, each with its escapes. Joined and unescaped they
are what the model wrote; the map leads from there back to the bytes.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

# The fields in which the five formats carry what the model says.
_FIELDS = (
    *("content", "text", "arguments", "partial_json", "delta", "thinking"),
    *("reasoning", "reasoning_content", "message", "refusal"),
)
_STRING = re.compile(
    r'"(' + "|".join(_FIELDS) + r')"\s{0,8}:\s{0,8}"((?:[^"\\]|\\.)*)"',
    re.DOTALL,
)
_RUN = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL)


@dataclass
class Joined:
    """The pieces of one field, joined; its text is read when all are added."""

    _pieces: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)  # in the joined text
    _places: list[tuple[int, int]] = field(default_factory=list)  # in the raw text
    _length: int = 0

    def add(self, raw: str, at: int) -> None:
        for run in _RUN.finditer(raw):
            plain = _unescaped(run[0])
            self._pieces.append(plain)
            self._starts.append(self._length)
            self._places.append((at + run.start(), at + run.end()))
            self._length += len(plain)

    @cached_property
    def text(self) -> str:
        return "".join(self._pieces)

    def places(self, start: int, end: int) -> list[tuple[int, int]]:
        """Where a part of the joined text stands in the raw one, neighbours as one."""
        found: list[tuple[int, int]] = []
        for index in range(bisect_right(self._starts, start) - 1, len(self._starts)):
            if self._starts[index] >= end:
                break
            left, right = self._place(index, start, end)
            if found and found[-1][1] == left:
                left = found.pop()[0]
            found.append((left, right))
        return found

    def _place(self, index: int, start: int, end: int) -> tuple[int, int]:
        begin, (left, right) = self._starts[index], self._places[index]
        length = len(self._pieces[index])
        if right - left != length:
            return left, right  # an escape is marked whole
        return left + max(0, start - begin), right - max(0, begin + length - end)


def joined(raw: str) -> list[Joined]:
    """What each field says in all of its pieces together."""
    fields: dict[str, Joined] = {}
    for found in _STRING.finditer(raw):
        fields.setdefault(found[1], Joined()).add(found[2], found.start(2))
    return list(fields.values())


def find(raw: str, fields: list[Joined], snippet: str) -> list[tuple[int, int]]:
    """Where a snippet stands in the raw text: as it is, or in the pieces of a field."""
    at = raw.find(snippet)
    if at >= 0:
        return [(at, at + len(snippet))]
    for each in fields:
        at = each.text.find(snippet)
        if at >= 0:
            return each.places(at, at + len(snippet))
    return []


def _unescaped(run: str) -> str:
    if not run.startswith("\\"):
        return run
    try:
        return str(json.loads(f'"{run}"'))
    except ValueError:
        return run
