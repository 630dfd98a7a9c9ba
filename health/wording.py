"""The language in which this library and the charts speak: English, unless pages choose one."""

from __future__ import annotations

from collections.abc import Callable
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


def speak(language: Language) -> None:
    """Tell everything in this language from now on; it may depend on who is reading."""
    global _spoken  # noqa: PLW0603 -- there is one language at a time, chosen where the process starts
    _spoken = language


def say(text: str) -> str:
    """The text in the reader's language. Call it with a literal, so that it is found."""
    return _spoken.one(text)


def say_many(singular: str, plural: str, count: int) -> str:
    """The form that fits the count, in the reader's language."""
    return _spoken.many(singular, plural, count)
