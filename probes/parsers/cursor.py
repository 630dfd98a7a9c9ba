"""Text that arrives in pieces, read as if it were whole.

A reader is a generator: it yields when it needs more text and is resumed when there is more, or
when there will be none (`cursor.eof`). A reader decides only on text that more text cannot change,
so the pieces in which the text came make no difference to what it finds. What was passed leaves the
buffer, which therefore stays small however long a call's body is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Reading: TypeAlias = Generator[None, None, T]
Sink: TypeAlias = Callable[[str], object]

# No tag is longer, attributes included: every quantifier in a tag's pattern is bounded by it.
REACH = 800
# How much white space may stand between two tags that belong together.
MAX_GAP = 256

_NON_SPACE = re.compile(r"\S")


class SearchPattern(Protocol):
    """Something to search for in text that is still arriving."""

    @property
    def pattern(self) -> re.Pattern[str]: ...

    @property
    def nested(self) -> bool:
        """Whether something to search for may stand inside something else that is."""
        ...

    def hold(self, text: str, start: int) -> int:
        """Where the part of the text begins that cannot be decided yet."""
        ...


@dataclass(frozen=True, slots=True)
class TagSearch:
    """Tags to look for, and how to tell that the end of a buffer may be the beginning of one.

    A tag is one of `literals`, or runs from one of `starts` to `stop`. No tag may contain a start
    inside itself: then only the last start in a buffer can be a tag that is still arriving.
    """

    pattern: re.Pattern[str]
    starts: tuple[str, ...] = ("<",)
    stop: str = ">"
    literals: tuple[str, ...] = ()
    nested = False

    def hold(self, text: str, start: int) -> int:
        """Where the part of the text begins that cannot be decided yet."""
        size = len(text)
        low = max(start, size - REACH)
        held = size
        for opening in self.starts:
            at = text.rfind(opening, low)
            if at >= 0 and text.find(self.stop, at + len(opening)) < 0:
                held = min(held, at)
        for literal in (*self.literals, *self.starts):
            held = min(held, size - _overlap(text, low, literal))
        return held

    def undecided(self, text: str, at: int) -> bool:
        """Whether a tag may still come to stand at this place."""
        if len(text) - at >= REACH:
            return False
        for opening in self.starts:
            if text.startswith(opening, at):
                return text.find(self.stop, at + len(opening)) < 0
        tail = text[at:]
        return any(literal.startswith(tail) for literal in (*self.literals, *self.starts))


class Cursor:
    """The text not yet passed, and what was passed since the last mark."""

    def __init__(self) -> None:
        self.eof = False
        self._text = ""
        self._at = 0
        self._mark = 0
        self._record: list[str] = []
        self._base = 0
        self._kept: list[str] | None = None  # what was passed and left the buffer, since `keep`
        self._kept_from = 0
        self._kept_at = 0

    @property
    def offset(self) -> int:
        """How many characters lie before the cursor."""
        return self._base + self._at

    def push(self, text: str) -> None:
        if self._mark < self._at:
            self._record.append(self._text[self._mark : self._at])
        if self._kept is not None:
            self._kept.append(self._text[self._kept_at : self._at])
            self._kept_at = 0
        self._base += self._at
        self._text = self._text[self._at :] + text
        self._at = self._mark = 0

    def pass_plain(self, text: str) -> bool:
        """Pass text that was not pushed; False where other text must be passed before it."""
        if self._at < len(self._text) or self._kept is not None:
            return False
        self._base += len(text)
        return True

    def mark(self) -> None:
        """From here on what is passed can be had back."""
        self._mark = self._at
        self._record.clear()

    def since_mark(self) -> str:
        return "".join((*self._record, self._text[self._mark : self._at]))

    def rewind(self) -> None:
        """Go back to the mark."""
        if self._record:
            before = "".join(self._record)
            self._base -= len(before)
            self._text = before + self._text[self._mark :]
            self._mark = 0
            self._record.clear()
            if self._kept is not None:
                self._kept = ["".join(self._kept)[: self._base - self._kept_from]]
                self._kept_at = 0
        self._at = self._mark

    def keep(self) -> None:
        """From here on all text can be read again by `kept`, whatever is marked meanwhile."""
        if self._kept is None:
            self._kept = []
            self._kept_from = self.offset
            self._kept_at = self._at

    def kept(self, start: int, end: int) -> str:
        """The text between two offsets that were passed since `keep`."""
        text = "".join((*(self._kept or ()), self._text[self._kept_at : self._at]))
        return text[start - self._kept_from : end - self._kept_from]

    def forget(self) -> None:
        """Undo `keep`."""
        self._kept = None

    def take(self, size: int) -> str:
        """Pass characters that are known to be there."""
        taken = self._text[self._at : self._at + size]
        self._at += size
        return taken

    def peek(self, size: int) -> Reading[str]:
        """The next characters; fewer only where the text ends."""
        while len(self._text) - self._at < size and not self.eof:
            yield
        return self._text[self._at : self._at + size]

    def starts_with(self, *literals: str, ahead: int = 0) -> Reading[str]:
        """The longest literal that stands here, or so many characters ahead; "" if none does."""
        while True:
            at = self._at + ahead
            tail = self._text[at : at + max(map(len, literals), default=0)]
            if self.eof or not any(_may_become(tail, literal) for literal in literals):
                here = (literal for literal in literals if tail.startswith(literal))
                return max(here, key=len, default="")
            yield

    def skip(self, *literals: str) -> Reading[str]:
        """Pass the literal that stands here after white space; pass nothing if there is none."""
        gap = yield from self.gap()
        literal = yield from self.starts_with(*literals, ahead=gap)
        if literal:
            self._at += gap + len(literal)
        return literal

    def skip_space(self, sink: Sink | None = None) -> Reading[str]:
        """Pass white space, however much; the character that follows it, or "" at the end."""
        while True:
            match = _NON_SPACE.search(self._text, self._at)
            space = self.take((match.start() if match else len(self._text)) - self._at)
            if sink is not None and space:
                sink(space)
            if match is not None:
                return match.group()
            if self.eof:
                return ""
            yield

    def gap(self, *, ahead: int = 0) -> Reading[int]:
        """How much white space stands here, at most MAX_GAP; nothing is passed."""
        while True:
            at = self._at + ahead
            match = _NON_SPACE.search(self._text, at, at + MAX_GAP)
            if match is not None:
                return match.start() - at
            if self.eof or len(self._text) - at >= MAX_GAP:
                return min(len(self._text) - at, MAX_GAP)
            yield

    def run(self, character: str) -> Reading[str]:
        """Pass and return the characters of one kind that stand here."""
        taken: list[str] = []
        while True:
            rest = len(self._text) - self._at
            taken.append(self.take(_length(self._text, self._at, character)))
            if len(taken[-1]) < rest or self.eof:
                return "".join(taken)
            yield

    def search(self, marks: SearchPattern, sink: Sink) -> Reading[re.Match[str] | None]:
        """Pass the text up to the next tag into the sink; None where the text ends first."""
        while True:
            found = marks.pattern.search(self._text, self._at)
            stop = found.start() if found is not None else len(self._text)
            if not self.eof and (found is None or marks.nested):
                held = marks.hold(self._text, self._at)
                if held < stop:
                    # A longer word that is still arriving begins before the one found.
                    found, stop = None, held
            if stop > self._at:
                sink(self.take(stop - self._at))
            if found is not None or self.eof:
                return found
            yield

    def match(self, marks: TagSearch, *, ahead: int = 0) -> Reading[re.Match[str] | None]:
        """The tag that stands here, or so many characters ahead. Nothing is passed."""
        while True:
            at = self._at + ahead
            found = marks.pattern.match(self._text, at)
            if found is not None or self.eof or not marks.undecided(self._text, at):
                return found
            yield

    def until(self, limit: int, *stops: str) -> Reading[tuple[str, str] | None]:
        """Pass the text up to the first of the stops; None: none so soon, nothing was passed."""
        while True:
            end = self._at + limit + max(map(len, stops))
            hits = ((self._text.find(stop, self._at, end), stop) for stop in stops)
            at, stop = min((hit for hit in hits if hit[0] >= 0), default=(-1, ""))
            if at >= 0:
                return self.take(at - self._at), stop
            if self.eof or len(self._text) >= end:
                return None
            yield

    def at_end(self, *literals: str) -> Reading[bool]:
        """Whether nothing follows but a little white space and the beginning of a literal."""
        space = yield from self.gap()
        size = space + max(map(len, literals), default=1)
        ahead = yield from self.peek(size)
        rest = ahead[space:]
        return not rest or (len(ahead) < size and any(map(_begins, literals, repeat(rest))))

    def pass_match(self, match: re.Match[str]) -> None:
        """Pass a tag that `search` or `match` has just found."""
        self._at = match.end()

    def window(self) -> tuple[str, int]:
        """The buffer and the place in it, for scanners that keep their own state."""
        return self._text, self._at


def _overlap(text: str, low: int, literal: str) -> int:
    # The longest beginning of the literal that the text ends with.
    first = literal[0]
    at = text.find(first, max(low, len(text) - len(literal) + 1))
    while at >= 0:
        if literal.startswith(text[at:]):
            return len(text) - at
        at = text.find(first, at + 1)
    return 0


def _begins(literal: str, rest: str) -> bool:
    return literal != rest and literal.startswith(rest)


def _may_become(text: str, literal: str) -> bool:
    return len(text) < len(literal) and literal.startswith(text)


def _length(text: str, at: int, character: str) -> int:
    end = at
    while end < len(text) and text[end] == character:
        end += 1
    return end - at
