"""A name with which the text begins, because the prompt already ended in its opening."""

from __future__ import annotations

import string

from probes.parsers.context import MAX_NAME
from probes.parsers.cursor import Cursor, Reading

# What a parser of the whole text has as openers to be asked.
FIRST_LETTERS = tuple(string.ascii_letters + "_")

_LETTERS = frozenset(string.ascii_letters + string.digits + "_.:-")


def read_leading_name(cursor: Cursor, follows: str) -> Reading[str]:
    """Pass the name that stands here and what follows it at once; "" where something else does."""
    cursor.rewind()
    size = 0
    while size < MAX_NAME:
        ahead = yield from cursor.peek(size + 1)
        if len(ahead) <= size or ahead[size] not in _LETTERS:
            break
        size += 1
    if not (yield from cursor.starts_with(follows, ahead=size)):
        return ""
    name = cursor.take(size)
    cursor.take(len(follows))
    return name
