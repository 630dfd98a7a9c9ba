"""The shape of a level, so that cells differ in more than colour."""

from __future__ import annotations

from django import template

from dashboard.compare.queries import Level

register = template.Library()

# Paths on a 12 x 12 grid.
_SHAPES = {
    Level.GOOD: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z",
    Level.FAIR: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 1.6v6.8a3.4 3.4 0 0 1 0-6.8Z",
    Level.WEAK: "M6 1 11.5 11H.5Z",
    Level.BAD: "M1.5 1.5h9v9h-9Z",
    Level.NONE: "M1 5h10v2H1Z",
}


@register.filter
def level_shape(level: Level) -> str:
    return _SHAPES[level]
