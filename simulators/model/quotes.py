"""Texts between quotes."""

from __future__ import annotations

import re

from simulators.model.schema_values import QUOTES

_OPENED = re.compile(r"(?<!\w)[\"'`“«‘]")


def find_quoted_texts(text: str) -> list[str]:
    """The texts between quotes, in order."""
    texts, position = [], 0
    while opened := _OPENED.search(text, position):
        end = find_closing_quote(text, opened.start())
        position = opened.end() if end is None else end + 1
        if end is not None:
            texts.append(text[opened.end() : end])
    return texts


def find_closing_quote(text: str, begin: int) -> int | None:
    """The position of the closing quote: before a space or punctuation, on the same line."""
    close = QUOTES[text[begin]]
    position = begin
    line_end = text.find("\n", begin)
    line_end = len(text) if line_end < 0 else line_end
    while (position := text.find(close, position + 1, line_end)) >= 0:
        after = text[position + 1 : position + 2]
        if not after or after in " \t\n,.;:!?)]}|":
            return position
    return None
