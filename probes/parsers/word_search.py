"""Finding many fixed words at once in text that is still arriving."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

Trie: TypeAlias = "dict[str, Trie]"
_END = ""
_TEXT_END = r"\Z"


class WordSearch:
    """Fixed words to look for. None may begin with another: a piece of text could not tell them."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)
        self._longest = max(map(len, self.words))

    # Compiling takes longer than the import of the other parsers, and many processes read no text.
    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self._word)

    @cached_property
    def whole_or_unfinished(self) -> re.Pattern[str]:
        return re.compile(f"{self._word}|{self._beginnings}")

    @cached_property
    def nested(self) -> bool:
        """Whether a word contains another one."""
        return any(map(self.pattern.search, (word[1:] for word in self.words)))

    def hold(self, text: str, start: int) -> int:
        """Where the part of the text begins that may still become a word."""
        low = max(start, len(text) - self._longest)
        match = self._unfinished.search(text, low)
        return match.start() if match else len(text)

    @cached_property
    def _unfinished(self) -> re.Pattern[str]:
        return re.compile(self._beginnings)

    @cached_property
    def _word(self) -> str:
        return _expression(_trie(self.words))

    @cached_property
    def _beginnings(self) -> str:
        return "|".join(_unfinished(_trie(self.words)))


def _trie(words: Iterable[str]) -> Trie:
    root: Trie = {}
    for word in words:
        node = root
        for character in word:
            node = node.setdefault(character, {})
        node[_END] = {}
    return root


def _unfinished(node: Trie) -> list[str]:
    # Expressions for the beginnings of words, no word whole, that end where the text does.
    return [
        f"{re.escape(character)}(?:{'|'.join((_TEXT_END, *_unfinished(child)))})"
        for character, child in sorted(node.items())
        if _END not in child
    ]


def _expression(node: Trie) -> str:
    # A trie as a regular expression never tries one beginning twice.
    branches = [
        re.escape(character) + _expression(child)
        for character, child in sorted(node.items())
        if character != _END
    ]
    if not branches:
        return ""
    if len(branches) == 1 and _END not in node:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if _END in node else ''}"
