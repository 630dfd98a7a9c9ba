"""Values announced by a sentence, such as `the following text, please:` and then the text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from simulators.model.quotes import find_closing_quote
from simulators.model.schema_values import QUOTES

MAX_MATCHES = 50
# On the same line only if the sentence says that something follows; on the next line, always.
_BELOW = re.compile(r"[^\n.!?\"“«]{0,200}?:[ \t]*\n\s*")
_BESIDE = re.compile(
    r"[^\n.!?:\"“«]{0,80}?\b(?:this|these|following|below)\b[^\n.!?:\"“«]{0,80}:[ \t]+"
)
_INDENTED = re.compile(r"\n[ \t]*\n(?: {2,}|\t)(\S[^\n]*)")


@dataclass(frozen=True, slots=True)
class AnnouncedValue:
    """A value and its position in the text."""

    start: int
    end: int
    text: str


def find_announced_value(text: str, begin: int) -> AnnouncedValue | None:
    """The value that is announced by the sentence continuing at `begin`."""
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


def find_announced_texts(text: str) -> list[str]:
    """Every announced value, whatever property it is for."""
    values = []
    matches = re.finditer(r"\b(?=(?:this|these|following|below)\b)", text, re.I)
    for match in islice(matches, MAX_MATCHES):
        announced = find_announced_value(text, match.start())
        if announced is not None and announced.text not in values:
            values.append(announced.text)
        elif announced is None and (block := _INDENTED.search(text, match.end())):
            values.append(block.group(1).rstrip())
    return values
