"""The language of texts from this library: English unless the process sets another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """Translators of a text, and of a text with a count."""

    one: Callable[[str], str]
    many: Callable[[str, str, int], str]


ENGLISH = Language(
    one=lambda text: text,
    many=lambda singular, plural, count: singular if count == 1 else plural,
)
_current = ENGLISH
_english_only: ContextVar[bool] = ContextVar("for_all", default=False)


def set_language(language: Language) -> None:
    """Translate all texts with this language from now on; it may depend on the reader."""
    global _current  # noqa: PLW0603 -- there is one language at a time, chosen where the process starts
    _current = language


@contextmanager
def in_english() -> Iterator[None]:
    """Translate nothing inside the block: stored and sent texts are English for every reader."""
    before = _english_only.set(True)
    try:
        yield
    finally:
        _english_only.reset(before)


def mark(text: str) -> str:
    """Mark a text in a table for the catalogue; `say` translates it later."""
    return text


def say(text: str) -> str:
    """Translate a literal, or a text from `mark`, into the reader's language."""
    return _language().one(text)


def say_many(singular: str, plural: str, count: int) -> str:
    """Translate the singular or the plural, by the count, into the reader's language."""
    return _language().many(singular, plural, count)


def _language() -> Language:
    return ENGLISH if _english_only.get() else _current
