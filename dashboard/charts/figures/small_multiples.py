"""A small line of a metric with its interval, as SVG points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from health.rates import Rate

WIDTH, HEIGHT = 150, 44
_EDGE = 3


@dataclass(frozen=True, slots=True)
class SmallPoint:
    """A rate at a position of the axis from 0 to 1."""

    place: float
    rate: Rate


@dataclass(frozen=True, slots=True)
class SmallLine:
    """`last` is the position of the newest point."""

    line: str
    band: str
    last: tuple[float, float]
    width: int = WIDTH
    height: int = HEIGHT


def draw_line(dots: Sequence[SmallPoint]) -> SmallLine | None:
    """Expects points in order of time; None without trials."""
    known = [dot for dot in dots if dot.rate.trials]
    if not known:
        return None
    points = [(_x(dot.place), _y(dot.rate.value or 0)) for dot in known]
    upper = [(_x(dot.place), _y(dot.rate.high or 0)) for dot in known]
    lower = [(_x(dot.place), _y(dot.rate.low or 0)) for dot in known]
    return SmallLine(_svg_points(points), _svg_points([*upper, *reversed(lower)]), points[-1])


def _x(place: float) -> float:
    return round(_EDGE + place * (WIDTH - 2 * _EDGE), 1)


def _y(value: float) -> float:
    return round(_EDGE + (1 - value) * (HEIGHT - 2 * _EDGE), 1)


def _svg_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
