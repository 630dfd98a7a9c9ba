"""Finding many fixed words at once in text that is still arriving."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

Trie: TypeAlias = "dict[str, Trie]"
_END = ""
_TEXT_END = r"\Z"


class WordSearch:
    """Fixed words to look for. None may begin with another: a piece of text could not tell them."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)
        word, unfinished = _expression(_trie(self.words)), "|".join(_unfinished(_trie(self.words)))
        self.pattern = re.compile(word)
        self.whole_or_unfinished = re.compile(f"{word}|{unfinished}")
        self._unfinished = re.compile(unfinished)
        self._longest = max(map(len, self.words))
        self.nested = any(map(self.pattern.search, (word[1:] for word in self.words)))

    def hold(self, text: str, start: int) -> int:
        """Where the part of the text begins that may still become a word."""
        low = max(start, len(text) - self._longest)
        match = self._unfinished.search(text, low)
        return match.start() if match else len(text)


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
