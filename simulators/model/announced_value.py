"""A value that its sentence announces: `the following text, please:` and then the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from simulators.model.quotes import find_closing_quote
from simulators.model.schema_values import QUOTES

MAX_PLACES = 50
# On the same line only where the sentence says that something follows; below it, always.
_BELOW = re.compile(r"[^\n.!?\"“«]{0,200}?:[ \t]*\n\s*")
_BESIDE = re.compile(
    r"[^\n.!?:\"“«]{0,80}?\b(?:this|these|following|below)\b[^\n.!?:\"“«]{0,80}:[ \t]+"
)
_INDENTED = re.compile(r"\n[ \t]*\n(?: {2,}|\t)(\S[^\n]*)")


@dataclass(frozen=True, slots=True)
class AnnouncedValue:
    """A value and where it stands."""

    start: int
    end: int
    said: str


def find_announced_value(text: str, begin: int) -> AnnouncedValue | None:
    """The value that the sentence going on at this place announces."""
    head = _BELOW.match(text, begin) or _BESIDE.match(text, begin)
    if head is None or head.end() == len(text):
        return None
    line = text[head.end() :].split("\n", 1)[0].rstrip()
    if not line or line.startswith("```"):
        return None
    close = find_closing_quote(line, 0) if line[0] in QUOTES else None
    if close is not None:
        return AnnouncedValue(head.end(), head.end() + close + 1, line[1:close])
    return AnnouncedValue(head.end(), head.end() + len(line), line.removeprefix("> ").strip())


def find_only_announced_value(text: str) -> list[str]:
    """Every value that is announced without a word on what it is for."""
    found = []
    places = re.finditer(r"\b(?=(?:this|these|following|below)\b)", text, re.I)
    for match in islice(places, MAX_PLACES):
        value = find_announced_value(text, match.start())
        if value is not None and value.said not in found:
            found.append(value.said)
        elif value is None and (block := _INDENTED.search(text, match.end())):
            found.append(block.group(1).rstrip())
    return found
