"""Finds what a page says outside the brackets of the made-up language."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from typing import Any

from typing_extensions import override

_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
# Code, data of vendors, moments, what stands on keys, and what nobody reads.
_SKIPPED = frozenset({"code", "kbd", "pre", "time", "script", "style", "textarea"})
_ATTRIBUTES = ("alt", "aria-description", "aria-label", "data-label", "placeholder", "title")
# The same in every language.
_NAMES = re.compile(r"\b(?:Toolgauge|CSV|JSON|PNG|YAML|UTC|API|URL|HTTP|ms|tool_choice)\b")
# 24h, 30d, S2, 1.5
_UNITS = re.compile(r"\b(?:\d+(?:\.\d+)?[smhd]|S[123])\b")
_MARKUP = re.compile(r"%\{[^}]*\}|<[^>]*>")
_BRACKETS = re.compile("([⟦⟧])")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def unmarked(page: str, *, data: Collection[str] = ()) -> list[str]:
    """The texts of a page that were not translated; `data` are names that the test made up."""
    reader = _Reader(data)
    reader.feed(page)
    reader.close()
    return list(dict.fromkeys(reader.found))


class _Reader(HTMLParser):
    def __init__(self, data: Collection[str]) -> None:
        super().__init__()
        # The longest first: one name may begin another. Without any, nothing matches.
        names = map(re.escape, sorted(data, key=len, reverse=True))
        self.data = re.compile("|".join(names) or "(?!)")
        self.found: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._depth = 0
        self._is_json = False

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        wanted = given.get("translate")
        skipped = tag in _SKIPPED or wanted == "no" or (self._skips and wanted != "yes")
        if not skipped:
            for name in _ATTRIBUTES:
                self._judge(given.get(name, ""))
        self._is_json = tag == "script" and given.get("type") == "application/json"
        if tag not in _VOID:
            self._open.append((tag, skipped))

    @override
    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    @override
    def handle_data(self, data: str) -> None:
        if self._is_json and data.strip():
            for text in _texts(json.loads(data)):
                self._judge(_MARKUP.sub(" ", text))
        elif not self._skips:
            # A text may hold markup, and then begins in one element and ends in another.
            outside, self._depth = _outside(data, self._depth)
            self._judge(outside)

    @property
    def _skips(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _judge(self, text: str) -> None:
        outside, _ = _outside(text, 0)
        if not _LETTERS.search(outside):
            return
        outside = self.data.sub(" ", outside)
        if _LETTERS.search(_UNITS.sub(" ", _NAMES.sub(" ", outside))):
            self.found.append(" ".join(text.split()))


def _outside(text: str, depth: int) -> tuple[str, int]:
    """What stands outside all brackets, and how many are open at the end."""
    kept = []
    for piece in _BRACKETS.split(text):
        if piece == "⟦":
            depth += 1
        elif piece == "⟧":
            depth -= 1
        elif not depth:
            kept.append(piece)
    return "".join(kept), depth


def _texts(figure: Any, name: str = "") -> Iterator[str]:
    """What people read in a figure: titles, names of lines, labels, what shows on hover."""
    if isinstance(figure, dict):
        for key, value in figure.items():
            yield from _texts(value, key)
    elif isinstance(figure, list):
        for value in figure:
            yield from _texts(value, name)
    elif isinstance(figure, str) and name in {"text", "name", "hovertemplate", "hovertext"}:
        yield figure
