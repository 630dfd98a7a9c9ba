"""Spans of time as people write and read them: 30m, 6h, 1d."""

from __future__ import annotations

import re
from datetime import timedelta

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse(text: str) -> timedelta:
    """A whole number with a unit, such as 30m, 6h or 1d. Raises ValueError on anything else."""
    match = re.fullmatch(r"([0-9]{1,6})\s*([smhd])", text.strip().lower())
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def short(span: timedelta) -> str:
    """The span in its largest whole unit; `parse` reads it back."""
    seconds = int(span.total_seconds())
    for unit in ("d", "h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{seconds // _UNITS[unit]}{unit}"
    return f"{seconds}s"


def rough(span: timedelta) -> str:
    """The span to about one unit, for reading: 42 s, 5 min, 3 h, 2 d."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return f"{seconds} s" if seconds else "under 1 s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 2 * 86400 else f"{seconds // 86400} d"
