"""The text that a prompt asks to have repeated, if it asks for nothing else."""

from __future__ import annotations

import re
from itertools import islice

from simulators.model.quotes import find_quoted_texts
from simulators.model.schema_values import strip_quotes
from simulators.model.tool_bans import find_first_ban

# No prompt asks to repeat more than this; scanning a longer text would only cost time.
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
    """The object of a verb such as `say`, or what the prompt labels as the text."""
    text = text[:MAX_TEXT]
    verbs = list(islice(_SAY.finditer(text), MAX_VERBS))
    candidates = (
        _find_after(text, verb.end()) or _find_before(text, verb.start()) for verb in verbs
    )
    if repeated := next(filter(None, candidates), None):
        return repeated
    if named := _NAMED.search(text) if verbs else None:
        return _first_line(text[named.end() :])
    # If tools are forbidden, the quoted text is the answer.
    quotes = find_quoted_texts(text) if find_first_ban(text) is not None else []
    return quotes[0] if quotes else None


def _find_after(text: str, begin: int) -> str | None:
    """In the rest of the sentence: in quotes, after a colon, or on the lines below."""
    end = _SENTENCE_END.search(text, begin)
    assert end is not None
    sentence = text[begin : end.start()]
    colon = _COLON.search(sentence)
    if quotes := find_quoted_texts(sentence):
        return quotes[0]
    if colon is None:
        return _first_line(text[end.end() :]) if _BELOW.search(sentence) else None
    return _first_line(text[begin + colon.end() :])


def _find_before(text: str, end: int) -> str | None:
    """In quotes, earlier in the same sentence."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, end) if match.end() < end]
    quotes = find_quoted_texts(text[ends[-1] if ends else 0 : end])
    return quotes[-1] if quotes else None


def _first_line(text: str) -> str | None:
    lines = (line.strip().removeprefix("> ") for line in text.splitlines())
    first = next((line for line in lines if line), "")
    return strip_quotes(first) or None
