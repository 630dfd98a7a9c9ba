"""Where calls written in Python end in text that is still arriving. Nothing is validated here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from probes.parsers.cursor import Cursor, Reading, TagSearch

# What may follow a closing tag that ends the calls although a string is open.
_LINE_ENDS = ("", "\n", "\r", "<")
_OPENING = "([{"


@dataclass(frozen=True, slots=True)
class PythonBody:
    """Calls in a list, or one after the other.

    `calls`: each from behind the one before up to its last parenthesis. `rest`: what stands behind
    the last. `closer`: the closing tag, which was passed. `listed`: a list was closed.
    """

    calls: tuple[str, ...]
    rest: str
    closer: str = ""
    listed: bool = False


def read_python(cursor: Cursor, closers: tuple[str, ...], opener: str) -> Reading[PythonBody]:
    """Pass calls up to and with a closing tag, the end of their list, or the end of the text."""
    scan = _PythonScan(cursor, closers, opener)
    first = yield from cursor.skip_space()
    base = 1 if first == "[" else 0
    while True:
        mark = yield from scan.next_mark()
        if not mark or mark in closers:
            return scan.body(closer=cursor.take(len(mark)))
        scan.keep(mark)
        if mark in _OPENING:
            scan.depth += 1
        elif mark in ")]}":
            scan.depth -= 1
            if mark == ")" and scan.depth == base:
                scan.end_call()
            if base and scan.depth <= 0:
                return scan.body(closer=(yield from cursor.skip(*closers)), listed=True)
        else:
            closer = yield from scan.pass_literal(mark)
            if closer:
                return scan.body(closer=closer)


class _PythonScan:
    """The calls that were passed, and the one that is being passed."""

    def __init__(self, cursor: Cursor, closers: tuple[str, ...], opener: str) -> None:
        self.depth = 0
        self._cursor = cursor
        self._closers = closers
        # A fence opens and closes with the same characters.
        self._openers = () if opener.startswith(closers) else (opener,)
        self._calls: list[str] = []
        self._parts: list[str] = []

    def next_mark(self, end: str = "") -> Reading[str]:
        """Pass what stands up to the next mark, outside of literals or up to the end of one."""
        openers = self._openers if end and end != "\n" else ()
        marks = _marks((*self._closers, *openers), end)
        match = yield from self._cursor.search(marks, self._parts.append)
        return match.group() if match is not None else ""

    def keep(self, text: str) -> None:
        self._parts.append(self._cursor.take(len(text)))

    def end_call(self) -> None:
        self._calls.append("".join(self._parts))
        self._parts.clear()

    def body(self, *, closer: str, listed: bool = False) -> PythonBody:
        return PythonBody(tuple(self._calls), "".join(self._parts), closer, listed)

    def pass_literal(self, mark: str) -> Reading[str]:
        """Pass a string or a comment behind its first mark.

        A closing tag inside a string is text, unless a line, the text or another tag ends there:
        then a quotation mark was lost. Behind an opening tag it is text in any case: the string
        quotes a call. The answer is a tag that ends the calls, which was passed.
        """
        quoting = False
        end = "\n" if mark == "#" else mark
        if mark != "#" and (yield from self._cursor.peek(2)) == mark * 2:
            self.keep(mark * 2)
            end = mark * 3
        while True:
            found = yield from self.next_mark(end)
            quoting = quoting or found in self._openers
            closes = found in self._closers and not quoting
            if closes and (yield from self._closes(found, end)):
                return self._cursor.take(len(found))
            self.keep(found)
            if found in ("", end):
                return ""
            if found == "\\":
                self.keep((yield from self._cursor.peek(1)))

    def _closes(self, closer: str, end: str) -> Reading[bool]:
        if len(end) > 1:
            return False
        ahead = yield from self._cursor.peek(len(closer) + 1)
        return end == "\n" or ahead[len(closer) :] in _LINE_ENDS


@lru_cache(maxsize=64)
def _marks(tags: tuple[str, ...], end: str) -> TagSearch:
    own = re.escape(end) if end else r"[()\[\]{}'\"#]"
    escape = r"|\\" if end and end != "\n" else ""
    every_tag = "|".join(map(re.escape, tags))
    words = (*tags, end) if end else tags
    return TagSearch(re.compile(f"{every_tag}|{own}{escape}"), (), "", words)
