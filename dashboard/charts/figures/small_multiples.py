"""A metric in small, as the points of an SVG: a line, its interval, and gaps where nothing is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from health.rates import Rate

WIDTH, HEIGHT = 150, 44
_EDGE = 3


@dataclass(frozen=True, slots=True)
class Dot:
    """Some trials at a place of the axis, from 0 to 1."""

    place: float
    rate: Rate


@dataclass(frozen=True, slots=True)
class Drawn:
    """What the template writes down; `last` is the place of the newest point."""

    line: str
    band: str
    last: tuple[float, float]
    width: int = WIDTH
    height: int = HEIGHT


def draw(dots: Sequence[Dot]) -> Drawn | None:
    """The line of dots in order of time; None where there is none."""
    known = [dot for dot in dots if dot.rate.trials]
    if not known:
        return None
    points = [(_x(dot.place), _y(dot.rate.value or 0)) for dot in known]
    upper = [(_x(dot.place), _y(dot.rate.high or 0)) for dot in known]
    lower = [(_x(dot.place), _y(dot.rate.low or 0)) for dot in known]
    return Drawn(_spelled(points), _spelled([*upper, *reversed(lower)]), points[-1])


def _x(place: float) -> float:
    return round(_EDGE + place * (WIDTH - 2 * _EDGE), 1)


def _y(value: float) -> float:
    return round(_EDGE + (1 - value) * (HEIGHT - 2 * _EDGE), 1)


def _spelled(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
