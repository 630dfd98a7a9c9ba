"""A translatable text of the sources."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Message:
    """`plural` is empty without a count, `context` if the text has only one meaning."""

    singular: str
    plural: str = ""
    context: str = ""
