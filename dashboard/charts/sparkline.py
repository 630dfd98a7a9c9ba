"""The last runs of an endpoint as a row of small bars, one metric each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from health.metrics import Rate
from health.status import Status, status_of_rate

SLOTS = 24
HEIGHT = 24
_STEP = 5
_WIDTH = 3.5
_SHORTEST = 3
_HOLLOW = 7


@dataclass(frozen=True, slots=True)
class Bar:
    """One run: as tall as its rate, coloured by how good that is; hollow is no verdict."""

    x: float
    y: float
    width: float
    height: float
    status: Status


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Bars, the oldest first, set against the right edge."""

    bars: tuple[Bar, ...]
    label: str
    width: int
    height: int = HEIGHT

    @property
    def paths(self) -> list[tuple[Status, str]]:
        """The bars of each status as one SVG path: a fleet page draws thousands of them."""
        drawn: dict[Status, list[str]] = {}
        for bar in self.bars:
            outline = f"M{bar.x:g} {bar.y:g}h{bar.width:g}v{bar.height:g}h-{bar.width:g}z"
            drawn.setdefault(bar.status, []).append(outline)
        return [(status, "".join(outlines)) for status, outlines in drawn.items()]


def sparkline(rates: Sequence[Rate | None], slots: int = SLOTS) -> Sparkline:
    """A bar for each run, the oldest first; None is a run without a verdict."""
    shown = rates[-slots:]
    left = slots - len(shown)
    bars = tuple(_bar(left + i, rate) for i, rate in enumerate(shown))
    return Sparkline(bars, _label(shown), width=slots * _STEP)


def _bar(slot: int, rate: Rate | None) -> Bar:
    value = rate.value if rate else None
    if rate is None or value is None:
        # Drawn as an outline, half of which lies outside.
        y = HEIGHT - _HOLLOW - 0.5
        return Bar(slot * _STEP + 0.5, y, _WIDTH - 1, _HOLLOW, Status.NO_VERDICT)
    height = round(max(_SHORTEST, value * HEIGHT), 1)
    return Bar(slot * _STEP, round(HEIGHT - height, 1), _WIDTH, height, status_of_rate(rate))


def _label(rates: Sequence[Rate | None]) -> str:
    if not rates:
        return "No runs yet"
    values = [rate.value for rate in rates if rate and rate.value is not None]
    void = len(rates) - len(values)
    if not values:
        return f"Last {len(rates)} runs: no verdict"
    tail = f", {void} without a verdict" if void else ""
    return f"Last {len(rates)} runs: between {min(values):.0%} and {max(values):.0%}{tail}"
