"""Mistakes in an endpoints file, collected with line and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from django.utils.translation import gettext as _

from dashboard.core import safe_text

# A file of another format has a mistake in every line.
MAX_MISTAKES = 200
MAX_QUOTE = 60


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """Lines and columns count from one."""

    line: int
    column: int
    message: str


class InvalidFile(Exception):
    """Carries the mistakes of a file; `left_out` counts those above the limit."""

    def __init__(self, mistakes: Sequence[Mistake], left_out: int = 0) -> None:
        super().__init__(f"{len(mistakes) + left_out} mistakes")
        self.mistakes = mistakes
        self.left_out = left_out


class Mistakes:
    """Collects mistakes while a file is read to its end."""

    def __init__(self) -> None:
        self._mistakes: list[Mistake] = []

    def add(self, line: int, column: int, message: str) -> None:
        self._mistakes.append(Mistake(line, column, message))

    def at(self, marked: yaml.Node | yaml.Event, message: str) -> None:
        """Add a mistake at the start of a node or event."""
        mark: Any = marked.start_mark
        self.add(mark.line + 1, mark.column + 1, message)

    def check(self) -> None:
        """Raise InvalidFile if there are mistakes, in the order of the text."""
        if self._mistakes:
            mistakes = sorted(self._mistakes)
            raise InvalidFile(mistakes[:MAX_MISTAKES], max(0, len(mistakes) - MAX_MISTAKES))


def quoted(text: str) -> str:
    """Text of the file for use in a message: shortened, hidden characters made visible."""
    short = text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}…"
    return _("“{text}”").format(text=safe_text.visible(short))
