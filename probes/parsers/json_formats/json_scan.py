"""Where a JSON value ends in text that is still arriving. Nothing is validated here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from probes.parsers.cursor import Cursor, Reading

# What models leave between a value and the tag that should follow it.
_JUNK = frozenset(" \t\r\n]};,`")
_MAX_JUNK = 64


@dataclass(frozen=True, slots=True)
class JsonBody:
    """The text of a value, or of several in a row.

    `balanced`: every bracket was closed. `closer`: the closing tag behind it, which was passed, or
    "" where there was none. `depth`: how deep its brackets nest. `junk`: more
    than white space stood between the last value and the end.
    """

    text: str
    balanced: bool
    closer: str = ""
    depth: int = 0
    junk: bool = False


def read_value(
    cursor: Cursor, closers: tuple[str, ...] = (), openers: tuple[str, ...] = ()
) -> Reading[JsonBody]:
    """Pass one value that begins here with a bracket.

    A closing tag outside a string ends it. One inside a string is text, unless a line, the text or
    another tag ends there: JSON has no raw line breaks in strings, so then a quote was lost. Behind
    one of the openers in the same string it is text in any case: the string quotes a call.
    """
    openers = (*openers, *(closer.replace("/", "")[:-1] for closer in closers if "/" in closer))
    scan = _Scan((*closers, *openers))
    parts: list[str] = []
    while True:
        text, at = cursor.window()
        parts.append(cursor.take(scan.run(text, at) - at))
        if scan.done:
            return JsonBody("".join(parts), balanced=True, depth=scan.deepest)
        if scan.at_tag:
            tag = yield from cursor.starts_with(*closers, *openers)
            scan.quoting = scan.quoting or tag in openers
            if tag in closers and (yield from _closes(cursor, tag, scan)):
                closer = cursor.take(len(tag))
                return JsonBody("".join(parts), False, closer, scan.deepest)
            parts.append(cursor.take(1))
        elif cursor.eof:
            return JsonBody("".join(parts), balanced=False, depth=scan.deepest)
        else:
            yield


class _Scan:
    """Where in a value the text stands."""

    def __init__(self, tags: tuple[str, ...]) -> None:
        self.in_string = False
        self.quoting = False  # an opening tag stood in this string
        self.at_tag = False  # stopped before a `<` that may begin one of the tags
        self.done = False
        self.deepest = 0
        self._depth = 0
        self._escaped = False
        self._outside, self._inside = _patterns(tags)

    def run(self, text: str, at: int) -> int:
        """Go on from `at`; where it stopped: the value's end, a tag, or the end of the text."""
        self.at_tag = False
        if self._escaped and at < len(text):
            self._escaped = False
            at += 1
        while True:
            match = (self._inside if self.in_string else self._outside).search(text, at)
            if match is None:
                return len(text)
            at = match.end()
            mark = match.group()
            if mark == "<":
                self.at_tag = True
                return match.start()
            if mark == '"':
                self.in_string = not self.in_string
                self.quoting = False
            elif mark == "\\":
                self._escaped = at == len(text)
                at += not self._escaped
            else:
                self._depth += 1 if mark in "[{" else -1
                self.deepest = max(self.deepest, self._depth)
                if self._depth == 0:
                    self.done = True
                    return at


def read_values(
    cursor: Cursor, closers: tuple[str, ...], openers: tuple[str, ...] = ()
) -> Reading[JsonBody]:
    """Pass values that follow one another, up to and with a closing tag if there is one."""
    parts: list[str] = []
    depth = 0
    while True:
        body = yield from read_value(cursor, closers, openers)
        parts.append(body.text)
        depth = max(depth, body.depth)
        if not body.balanced:
            return JsonBody("".join(parts), False, body.closer, depth)
        junk = yield from _junk(cursor)
        following = yield from cursor.starts_with(*closers, "{", "[", ahead=len(junk))
        if following in ("{", "["):
            parts.append(cursor.take(len(junk)))
            continue
        ended = len((yield from cursor.peek(len(junk) + 1))) == len(junk)
        if following or (ended and junk.strip()):
            parts.append(cursor.take(len(junk)))
            cursor.take(len(following))
        extra = bool(junk.strip(" \t\r\n`")) and (ended or bool(following))
        return JsonBody("".join(parts), True, following, depth, extra)


def _closes(cursor: Cursor, closer: str, scan: _Scan) -> Reading[bool]:
    if not scan.in_string:
        return True
    ahead = yield from cursor.peek(len(closer) + 1)
    return not scan.quoting and ahead[len(closer) :] in ("", "\n", "\r", "<")


def _junk(cursor: Cursor) -> Reading[str]:
    size = 0
    while size < _MAX_JUNK:
        ahead = yield from cursor.peek(size + 1)
        if len(ahead) <= size or ahead[size] not in _JUNK:
            break
        size += 1
    return (yield from cursor.peek(size))


@lru_cache(maxsize=64)
def _patterns(tags: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    # Only a `<` that may begin one of the tags is worth a look: hostile text has many others.
    seconds = "".join(sorted({re.escape(tag[1]) for tag in tags}))
    tag = rf"|<(?=[{seconds}]|\Z)" if tags else ""
    return re.compile(rf'["\[\]{{}}]{tag}'), re.compile(rf'["\\]{tag}')
