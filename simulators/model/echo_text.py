"""The words that a text wants to have said back, where it wants no more than that."""

from __future__ import annotations

import re
from itertools import islice

from simulators.model.quotes import quoted_texts
from simulators.model.schema_values import unquoted
from simulators.model.tool_bans import first_ban

# Nobody asks to have more than this repeated; a longer text would only take time.
MAX_TEXT = 20_000
MAX_VERBS = 50
_SAY = re.compile(
    r"\b(?:reply|answer|respond|response|say|write|type|repeat|output|print|echo|copy|read|quote"
    r"|give (?:me )?back|return|state)\b",
    re.I,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|\Z)|\n|\Z")
_COLON = re.compile(r":(?=\s|\Z)")
_BELOW = re.compile(r"\b(?:below|following|next|this|these)\b", re.I)
_NAMED = re.compile(r"\b(?:text|sentence|line|words?|phrase)\b[^\n.!?:]{0,40}:(?=\s|\Z)", re.I)


def find_text_to_repeat(text: str) -> str | None:
    """The words that a verb of saying is about, or that are called the text."""
    text = text[:MAX_TEXT]
    verbs = list(islice(_SAY.finditer(text), MAX_VERBS))
    found = (_behind(text, verb.end()) or _in_front(text, verb.start()) for verb in verbs)
    if said := next(filter(None, found), None):
        return said
    if named := _NAMED.search(text) if verbs else None:
        return _first_line(text[named.end() :])
    # Without tools, what is quoted is all that there is to say.
    quotes = quoted_texts(text) if first_ban(text) is not None else []
    return quotes[0] if quotes else None


def _behind(text: str, begin: int) -> str | None:
    """In the sentence that goes on here: in quotes, behind a colon, or on the lines below."""
    end = _SENTENCE_END.search(text, begin)
    assert end is not None
    sentence = text[begin : end.start()]
    colon = _COLON.search(sentence)
    if quotes := quoted_texts(sentence):
        return quotes[0]
    if colon is None:
        return _first_line(text[end.end() :]) if _BELOW.search(sentence) else None
    return _first_line(text[begin + colon.end() :])


def _in_front(text: str, end: int) -> str | None:
    """In quotes, earlier in the same sentence."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, end) if match.end() < end]
    quotes = quoted_texts(text[ends[-1] if ends else 0 : end])
    return quotes[-1] if quotes else None


def _first_line(text: str) -> str | None:
    lines = (line.strip().removeprefix("> ") for line in text.splitlines())
    first = next((line for line in lines if line), "")
    return unquoted(first) or None
