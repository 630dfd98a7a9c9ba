"""What is wrong with a file, all of it at once, each with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from django.utils.translation import gettext as _

from dashboard.core import safe_text

# A file of another kind is wrong in every line; nobody reads more than these.
MOST = 200
LONGEST_QUOTE = 60


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """What is wrong in one place; lines and columns count from one."""

    line: int
    column: int
    message: str


class Unreadable(Exception):
    """A file that cannot be taken; it says everything that is wrong with it."""

    def __init__(self, mistakes: Sequence[Mistake], left_out: int = 0) -> None:
        super().__init__(f"{len(mistakes) + left_out} mistakes")
        self.mistakes = mistakes
        self.left_out = left_out


class Mistakes:
    """Gathers what is wrong while a file is read to its end."""

    def __init__(self) -> None:
        self._found: list[Mistake] = []

    def add(self, line: int, column: int, message: str) -> None:
        self._found.append(Mistake(line, column, message))

    def at(self, marked: yaml.Node | yaml.Event, message: str) -> None:
        """Add a mistake at the place where a part of the file begins."""
        mark: Any = marked.start_mark
        self.add(mark.line + 1, mark.column + 1, message)

    def check(self) -> None:
        """Raise what was gathered, in the order of the text."""
        if self._found:
            found = sorted(self._found)
            raise Unreadable(found[:MOST], max(0, len(found) - MOST))


def quoted(text: str) -> str:
    """A word of the file inside a message: bounded, and with nothing hidden in it."""
    short = text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
    return _("“{text}”").format(text=safe_text.visible(short))
