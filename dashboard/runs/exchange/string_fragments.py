"""Text that a reply splits over many JSON strings, joined, with a map back to the raw text.

A stream sends the text of a field in pieces, each JSON-escaped. Joined and unescaped they are what
the model wrote; each piece keeps its position in the raw text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

# The fields that hold model output in the five wire formats.
_FIELDS = (
    *("content", "text", "arguments", "partial_json", "delta", "thinking"),
    *("reasoning", "reasoning_content", "message", "refusal"),
)
_STRING = re.compile(
    r'"(' + "|".join(_FIELDS) + r')"\s{0,8}:\s{0,8}"((?:[^"\\]|\\.)*)"',
    re.DOTALL,
)
_SEGMENT = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL)


@dataclass
class JoinedField:
    """The pieces of one field, joined; read `text` after the last `add`."""

    _pieces: list[str] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)  # in the joined text
    _raw_spans: list[tuple[int, int]] = field(default_factory=list)
    _length: int = 0

    def add(self, raw: str, at: int) -> None:
        for segment in _SEGMENT.finditer(raw):
            plain = _unescape(segment[0])
            self._pieces.append(plain)
            self._starts.append(self._length)
            self._raw_spans.append((at + segment.start(), at + segment.end()))
            self._length += len(plain)

    @cached_property
    def text(self) -> str:
        return "".join(self._pieces)

    def find_raw_spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """The spans of the raw text that hold a part of the joined text; adjacent ones merged."""
        spans: list[tuple[int, int]] = []
        for index in range(bisect_right(self._starts, start) - 1, len(self._starts)):
            if self._starts[index] >= end:
                break
            left, right = self._raw_span(index, start, end)
            if spans and spans[-1][1] == left:
                left = spans.pop()[0]
            spans.append((left, right))
        return spans

    def _raw_span(self, index: int, start: int, end: int) -> tuple[int, int]:
        begin, (left, right) = self._starts[index], self._raw_spans[index]
        length = len(self._pieces[index])
        if right - left != length:
            return left, right  # an escape cannot be split
        return left + max(0, start - begin), right - max(0, begin + length - end)


def join_fields(raw: str) -> list[JoinedField]:
    """The joined text of each field in a raw reply."""
    fields: dict[str, JoinedField] = {}
    for match in _STRING.finditer(raw):
        fields.setdefault(match[1], JoinedField()).add(match[2], match.start(2))
    return list(fields.values())


def find_snippet(raw: str, fields: list[JoinedField], snippet: str) -> list[tuple[int, int]]:
    """The spans of a snippet in the raw text, verbatim or in the pieces of a field."""
    at = raw.find(snippet)
    if at >= 0:
        return [(at, at + len(snippet))]
    for joined in fields:
        at = joined.text.find(snippet)
        if at >= 0:
            return joined.find_raw_spans(at, at + len(snippet))
    return []


def _unescape(segment: str) -> str:
    if not segment.startswith("\\"):
        return segment
    try:
        return str(json.loads(f'"{segment}"'))
    except ValueError:
        return segment
