"""A JSON reader with the leniencies of `probes/resolve/json_repair.py`, in one pass.

A leniency is used only where strict JSON cannot be read at all, so valid JSON is never read in
another way.
"""

from __future__ import annotations

import math
import re
from typing import NoReturn

from probes.messages import JSON
from probes.strict_json import MAX_DEPTH

# Each pattern is one class or a fixed sequence of disjoint classes: no significant backtracking.
_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN = {'"': re.compile(r'[^"\\\x00-\x1f]+'), "'": re.compile(r"[^'\\\x00-\x1f]+")}
_HEX = {2: re.compile(r"[0-9a-fA-F]{2}"), 4: re.compile(r"[0-9a-fA-F]{4}")}
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", '"': '"'}
_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}
_PYTHON_WORDS: dict[str, JSON] = {"True": True, "False": False, "None": None}


class Malformed(Exception):
    """The text cannot be read; `position` is where."""

    def __init__(self, position: int) -> None:
        super().__init__(f"No JSON value can be read at character {position}.")
        self.position = position


class TooDeep(Malformed):
    """The value is nested deeper than the limit."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.args = (f"The JSON text is nested deeper than {MAX_DEPTH} levels.",)


class Ended(Malformed):
    """The text ends inside the value; `closable` if closing the open brackets would complete it."""

    def __init__(self, position: int, *, closable: bool) -> None:
        super().__init__(position)
        self.closable = closable


class LenientReader:
    """Reads one value and stops after it. `used` names the leniencies that were needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.used: set[str] = set()
        self._depth = 0

    def value(self) -> JSON:
        """The value at the position."""
        self._skip(closable=False)
        mark = self.text[self.position]
        if mark in "{[":
            return self._container(mark)
        if mark in "\"'":
            return self._string(mark)
        if match := _NUMBER.match(self.text, self.position):
            self.position = match.end()
            return self._number(match.group())
        return self._word()

    def _container(self, mark: str) -> JSON:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep(self.position)
        self.position += 1
        value = self._object() if mark == "{" else self._array()
        self._depth -= 1
        return value

    def _object(self) -> JSON:
        members: dict[str, JSON] = {}
        while self._more("}", first=not members):
            key = self._key()
            self._skip(closable=False)
            if self.text[self.position] != ":":
                self._fail()
            self.position += 1
            if key in members:
                self.used.add("duplicate_keys")
            members[key] = self.value()
        return members

    def _array(self) -> JSON:
        items: list[JSON] = []
        while self._more("]", first=not items):
            items.append(self.value())
        return items

    def _more(self, closer: str, *, first: bool) -> bool:
        """Skip the comma or the closing bracket; whether another item follows."""
        self._skip(closable=True)
        mark = self.text[self.position]
        if not first and mark == ",":
            self.position += 1
            self._skip(closable=True)
            mark = self.text[self.position]
            if mark == closer:
                self.used.add("trailing_comma")
        elif not first and mark != closer:
            self._fail()
        if mark != closer:
            return True
        self.position += 1
        return False

    def _key(self) -> str:
        mark = self.text[self.position]
        if mark in "\"'":
            return self._string(mark, closable=False)
        match = _WORD.match(self.text, self.position)
        if match is None:
            self._fail()
        self.used.add("unquoted_keys")
        self.position = match.end()
        return match.group()

    def _word(self) -> JSON:
        match = _WORD.match(self.text, self.position)
        word = match.group() if match else ""
        if match and match.end() == len(self.text) and _is_cut_literal(word):
            raise Ended(len(self.text), closable=False)
        self.position += len(word)
        if word in _WORDS:
            return _WORDS[word]
        if word not in _PYTHON_WORDS:
            self._fail()
        self.used.add("python_literals")
        return _PYTHON_WORDS[word]

    def _number(self, text: str) -> JSON:
        try:
            number = float(text) if any(mark in text for mark in ".eE") else int(text)
        except ValueError:
            self._fail()
        if isinstance(number, float) and not math.isfinite(number):
            self._fail()
        return number

    def _string(self, quote: str, *, closable: bool = True) -> str:
        triple = self.text.startswith(quote * 3, self.position)
        end = quote * 3 if triple else quote
        python = triple or quote == "'"
        if python:
            self.used.add("python_literals")
        self.position += len(end)
        pieces: list[str] = []
        while not self.text.startswith(end, self.position):
            if self.position >= len(self.text):
                raise Ended(self.position, closable=closable)
            pieces.append(self._piece(quote, python=python, triple=triple))
        self.position += len(end)
        return "".join(pieces)

    def _piece(self, quote: str, *, python: bool, triple: bool) -> str:
        start = self.position
        if match := _PLAIN[quote].match(self.text, start):
            self.position = match.end()
            return match.group()
        if self.text[start] == "\\":
            return self._escape(python=python)
        if self.text[start] < " " and not triple:
            self.used.add("control_characters")
        self.position += 1
        return self.text[start]

    def _escape(self, *, python: bool) -> str:
        mark = self.text[self.position + 1 : self.position + 2]
        if mark in _ESCAPES:
            self.position += 2
            return _ESCAPES[mark]
        if python and mark == "'":
            self.position += 2
            return mark
        if mark == "u" and (code := self._hex(4)) is not None:
            return self._unicode(code)
        if python and mark == "x" and (code := self._hex(2)) is not None:
            return chr(code)
        self.used.add("invalid_escapes")
        self.position += 1
        return "\\"

    def _hex(self, digits: int) -> int | None:
        """The number in an escape with this many digits; moves past it."""
        match = _HEX[digits].match(self.text, self.position + 2)
        if match is None:
            return None
        self.position = match.end()
        return int(match.group(), 16)

    def _unicode(self, code: int) -> str:
        if 0xD800 <= code <= 0xDBFF and self.text.startswith("\\u", self.position):
            before = self.position
            low = self._hex(4)
            if low is not None and 0xDC00 <= low <= 0xDFFF:
                return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00))
            self.position = before
        return chr(code)

    def _skip(self, *, closable: bool) -> None:
        """Skip white space and comments up to the next character, which must exist."""
        while True:
            match = _SPACE.match(self.text, self.position)
            self.position = match.end() if match else self.position
            end = self._comment_end()
            if end is None:
                break
            self.used.add("comments")
            self.position = end
        if self.position >= len(self.text):
            raise Ended(self.position, closable=closable)

    def _comment_end(self) -> int | None:
        text, position = self.text, self.position
        if text.startswith("//", position):
            end = text.find("\n", position)
            return len(text) if end < 0 else end
        if text.startswith("/*", position):
            end = text.find("*/", position + 2)
            return len(text) if end < 0 else end + 2
        return None

    def _fail(self) -> NoReturn:
        raise Malformed(self.position)


def _is_cut_literal(word: str) -> bool:
    """Whether a word at the end of the text may be the start of a literal."""
    return any(full.startswith(word) and full != word for full in (*_WORDS, *_PYTHON_WORDS))
