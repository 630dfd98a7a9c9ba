"""The language in which this library and the charts speak: English, unless pages choose one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """How a text, and a text with a count, is told."""

    one: Callable[[str], str]
    many: Callable[[str, str, int], str]


ENGLISH = Language(
    one=lambda text: text,
    many=lambda singular, plural, count: singular if count == 1 else plural,
)
_spoken = ENGLISH
_for_all: ContextVar[bool] = ContextVar("for_all", default=False)


def set_language(language: Language) -> None:
    """Tell everything in this language from now on; it may depend on who is reading."""
    global _spoken  # noqa: PLW0603 -- there is one language at a time, chosen where the process starts
    _spoken = language


@contextmanager
def in_english() -> Iterator[None]:
    """What is stored or sent is for everybody, whoever happens to be reading."""
    before = _for_all.set(True)
    try:
        yield
    finally:
        _for_all.reset(before)


def mark(text: str) -> str:
    """The text as it is, in a table: found for the catalogue here, and told by `say` later."""
    return text


def say(text: str) -> str:
    """The text in the reader's language. A literal, or what `mark` was called with."""
    return _language().one(text)


def say_many(singular: str, plural: str, count: int) -> str:
    """The form that fits the count, in the reader's language."""
    return _language().many(singular, plural, count)


def _language() -> Language:
    return ENGLISH if _for_all.get() else _spoken
