"""Finds the texts of a page outside the brackets of the pseudo-language."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from html.parser import HTMLParser
from typing import Any

from typing_extensions import override

_VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
# Code, data of vendors, times, keyboard keys, and invisible elements.
_SKIPPED = frozenset({"code", "kbd", "pre", "time", "script", "style", "textarea"})
_ATTRIBUTES = ("alt", "aria-description", "aria-label", "data-label", "placeholder", "title")
# The same in every language.
_NAMES = re.compile(r"\b(?:Toolgauge|CSV|JSON|PNG|YAML|UTC|API|URL|HTTP|ms|tool_choice)\b")
# 24h, 30d, S2, 1.5
_UNITS = re.compile(r"\b(?:\d+(?:\.\d+)?[smhd]|S[123])\b")
_MARKUP = re.compile(r"%\{[^}]*\}|<[^>]*>")
_BRACKETS = re.compile("([⟦⟧])")
_LETTERS = re.compile(r"[^\W\d_]{2,}")


def find_untranslated(page: str, *, data: Collection[str] = ()) -> list[str]:
    """The untranslated texts of a page; `data` are names of test data."""
    reader = _PageReader(data)
    reader.feed(page)
    reader.close()
    return list(dict.fromkeys(reader.untranslated))


class _PageReader(HTMLParser):
    def __init__(self, data: Collection[str]) -> None:
        super().__init__()
        # The longest first: a name may be the prefix of another. Without names, nothing matches.
        names = map(re.escape, sorted(data, key=len, reverse=True))
        self.data = re.compile("|".join(names) or "(?!)")
        self.untranslated: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._depth = 0
        self._is_json = False

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        translate = attributes.get("translate")
        skipped = tag in _SKIPPED or translate == "no" or (self._skips and translate != "yes")
        if not skipped:
            for name in _ATTRIBUTES:
                self._judge(attributes.get(name, ""))
        self._is_json = tag == "script" and attributes.get("type") == "application/json"
        if tag not in _VOID:
            self._open.append((tag, skipped))

    @override
    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    @override
    def handle_data(self, data: str) -> None:
        if self._is_json and data.strip():
            for text in _figure_texts(json.loads(data)):
                self._judge(_MARKUP.sub(" ", text))
        elif not self._skips:
            # A text with markup begins in one element and ends in another.
            outside, self._depth = _text_outside_brackets(data, self._depth)
            self._judge(outside)

    @property
    def _skips(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _judge(self, text: str) -> None:
        outside, _ = _text_outside_brackets(text, 0)
        if not _LETTERS.search(outside):
            return
        outside = self.data.sub(" ", outside)
        if _LETTERS.search(_UNITS.sub(" ", _NAMES.sub(" ", outside))):
            self.untranslated.append(" ".join(text.split()))


def _text_outside_brackets(text: str, depth: int) -> tuple[str, int]:
    """The text outside all brackets, and how many are open at the end."""
    outside = []
    for piece in _BRACKETS.split(text):
        if piece == "⟦":
            depth += 1
        elif piece == "⟧":
            depth -= 1
        elif not depth:
            outside.append(piece)
    return "".join(outside), depth


def _figure_texts(figure: Any, name: str = "") -> Iterator[str]:
    """The visible texts of a figure: titles, names of lines, labels, hover texts."""
    if isinstance(figure, dict):
        for key, value in figure.items():
            yield from _figure_texts(value, key)
    elif isinstance(figure, list):
        for value in figure:
            yield from _figure_texts(value, name)
    elif isinstance(figure, str) and name in {"text", "name", "hovertemplate", "hovertext"}:
        yield figure
