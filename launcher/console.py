"""What the terminal shows: one plain line for each change of a part."""

from __future__ import annotations

import sys
from collections.abc import Callable

Say = Callable[[str], None]

_COLOURS = {"ready": "32", "died": "31", "restarts": "33"}


def say(line: str) -> None:
    """Write a line to standard error; a terminal that is gone must not keep us from stopping."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        return


def service_line(name: str, state: str, detail: str = "", seconds: float | None = None) -> str:
    """Return the line that tells what became of a part."""
    spent = "" if seconds is None else f"{seconds:5.1f} s"
    return f"{name:<10}{_coloured(state)}{detail:<24}{spent}".rstrip()


def _coloured(state: str) -> str:
    padded = f"{state:<10}"
    colour = _COLOURS.get(state)
    if colour is None or not sys.stderr.isatty():
        return padded
    return f"\033[{colour}m{padded}\033[0m"
