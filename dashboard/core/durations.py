"""Durations as people write and read them: 30m, 6h, 1d."""

from __future__ import annotations

import re
from datetime import timedelta

from health.translation import say

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_duration(text: str) -> timedelta:
    """A whole number with a unit, such as 30m, 6h or 1d. Raises ValueError on anything else."""
    match = re.fullmatch(r"([0-9]{1,6})\s*([smhd])", text.strip().lower())
    if match is None:
        raise ValueError(f"not a duration: {text!r}")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def format_duration(span: timedelta) -> str:
    """The span in its largest whole unit; `parse_duration` reads it back."""
    seconds = int(span.total_seconds())
    for unit in ("d", "h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{seconds // _UNITS[unit]}{unit}"
    return f"{seconds}s"


def format_rough_duration(span: timedelta) -> str:
    """The span rounded down to one unit: 42 s, 5 min, 3 h, 2 d."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return say("{count} s").format(count=seconds) if seconds else say("under 1 s")
    if seconds < 3600:
        return say("{count} min").format(count=seconds // 60)
    if seconds < 2 * 86400:
        return say("{count} h").format(count=seconds // 3600)
    return say("{count} d").format(count=seconds // 86400)


def format_relative_time(span: timedelta) -> str:
    """“3 h ago”; “in 3 h” for a negative span."""
    if span >= timedelta(0):
        soon = span < timedelta(seconds=5)
        return (
            say("just now") if soon else say("{span} ago").format(span=format_rough_duration(span))
        )
    return say("in {span}").format(span=format_rough_duration(-span))
