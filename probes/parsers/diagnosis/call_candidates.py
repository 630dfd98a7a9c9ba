"""A place of a text that may show a call, and where it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

# No call that is looked for reaches further.
MAX_CALL = 64 * 1024
# Characters that may be looked at to find ends, beside four times the text: keeps it linear.
FREE_CHARACTERS = 1024 * 1024
LOOKS_PER_CHARACTER = 4

_OPENING = {"{": "}", "[": "]", "(": ")"}
_MARK = re.compile(r"""\\.|"|(?<=[\s\[{(,:=])'|'(?=\s{0,8}[\]}),:]|\Z)|[\[\](){}]""", re.DOTALL)
# What may stand right behind a call and still belong to it.
_CLOSERS = re.compile(
    r"(?:\s{0,16}(?:</[\w:.｜|-]{1,48}>|<[|｜]/[\w▁:/]{1,40}[|｜]>|<[\w▁:]{1,40}[|｜]>|<end_\w{1,40}>"
    r"|<[|｜][\w▁:]{0,40}(?:end|END|suffix|SUFFIX|eo[tms])[\w▁:]{0,40}[|｜]>|<\|(?:call|return)\|>"
    r"|<<<[A-Z_/]{1,40}>>>|\[/[A-Z_]{3,40}\]|◁/[\w ]{1,40}▷|[\]})]{1,4};?|```(?=\s|\Z)))+"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Markup as it was found. `level` is its confidence where nothing quotes it.

    `named`: a declared tool is named in it. `closed`: its end was found. `is_fence`: the code
    fence is part of the format.
    """

    format: str
    start: int
    end: int
    level: float
    named: bool = True
    closed: bool = True
    is_fence: bool = False


class CallEnds:
    """Where calls end in one text, found within a budget of characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._budget = FREE_CHARACTERS + LOOKS_PER_CHARACTER * len(text)

    def balanced(self, start: int) -> int:
        """The end of the bracketed value that begins there, or -1."""
        stop = self._spend(start)
        depth, quote = 0, ""
        for match in _MARK.finditer(self.text, start, stop):
            mark = match.group()
            if quote:
                quote = "" if mark == quote else quote
            elif mark in ('"', "'"):
                quote = mark
            elif mark in _OPENING:
                depth += 1
            elif len(mark) == 1:
                depth -= 1
                if depth <= 0:
                    return self._refund(match.end(), stop)
        return -1

    def literal(self, word: str, start: int) -> int:
        """The end of the first such word behind `start`, or -1."""
        stop = self._spend(start)
        at = self.text.find(word, start, stop)
        return -1 if at < 0 else self._refund(at + len(word), stop)

    def pattern(self, pattern: re.Pattern[str], start: int) -> int:
        """The end of the first match behind `start`, or -1."""
        stop = self._spend(start)
        match = pattern.search(self.text, start, stop)
        return -1 if match is None else self._refund(match.end(), stop)

    def may_look(self, size: int) -> bool:
        """Whether the budget allows so many characters; they are spent then."""
        self._budget -= size
        return self._budget >= 0

    def line(self, start: int) -> int:
        """The end of the line."""
        end = self.text.find("\n", start, start + MAX_CALL)
        return end if end >= 0 else min(len(self.text), start + MAX_CALL)

    def pass_closers(self, end: int) -> int:
        """The end of the closing markup that stands right behind a call."""
        match = _CLOSERS.match(self.text, end, end + 512)
        return match.end() if match else end

    def _spend(self, start: int) -> int:
        stop = min(len(self.text), start + MAX_CALL, start + max(0, self._budget))
        self._budget -= stop - start
        return stop

    def _refund(self, end: int, stop: int) -> int:
        self._budget += stop - end
        return end
