"""Terminal output: one plain line per change of a service."""

from __future__ import annotations

import sys
from collections.abc import Callable

PrintLine = Callable[[str], None]

_COLOURS = {"ready": "32", "died": "31", "restarts": "33", "full": "31"}


def print_line(line: str) -> None:
    """Write a line to standard error; a closed terminal must not prevent the shutdown."""
    try:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
    except OSError:
        return


def service_line(name: str, state: str, detail: str = "", seconds: float | None = None) -> str:
    """Return the line about the new state of a service."""
    duration = "" if seconds is None else f"{seconds:5.1f} s"
    return f"{name:<10}{_colour_state(state)}{detail:<24}{duration}".rstrip()


def _colour_state(state: str) -> str:
    padded = f"{state:<10}"
    colour = _COLOURS.get(state)
    if colour is None or not sys.stderr.isatty():
        return padded
    return f"\033[{colour}m{padded}\033[0m"
