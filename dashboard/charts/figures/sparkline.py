"""The last runs of an endpoint as a row of small bars, one metric each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from health.rates import Rate
from health.status import Status, rate_status
from health.translation import say, say_many

SLOTS = 24
HEIGHT = 24
_STEP = 5
_WIDTH = 3.5
_SHORTEST = 3
_HOLLOW = 7


class Bar(NamedTuple):
    """One run: as tall as its rate, coloured by how good that is; hollow is no verdict."""

    height: float
    status: Status


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Bars, the oldest first, set against the right edge."""

    bars: tuple[Bar, ...]
    label: str
    slots: int
    height: int = HEIGHT

    @property
    def width(self) -> int:
        return self.slots * _STEP

    @property
    def paths(self) -> tuple[tuple[str, str], ...]:
        """The bars of each status as one SVG path, with the name of its style."""
        return _paths(self.slots - len(self.bars), self.bars)


def build_sparkline(rates: Sequence[Rate | None], slots: int = SLOTS) -> Sparkline:
    """A bar for each run, the oldest first; None is a run without a verdict."""
    shown = rates[-slots:]
    return Sparkline(tuple(map(_bar, shown)), _label(shown), slots)


def _bar(rate: Rate | None) -> Bar:
    value = rate.value if rate else None
    if rate is None or value is None:
        return Bar(_HOLLOW, Status.NO_VERDICT)
    return Bar(round(max(_SHORTEST, value * HEIGHT), 1), rate_status(rate))


# A fleet page draws hundreds of them, most of which are twelve full bars.
@lru_cache(maxsize=4096)
def _paths(left: int, bars: tuple[Bar, ...]) -> tuple[tuple[str, str], ...]:
    drawn: dict[Status, list[str]] = {}
    for slot, bar in enumerate(bars, start=left):
        drawn.setdefault(bar.status, []).append(_outline(slot * _STEP, bar))
    return tuple(
        (status.value.replace(" ", "-"), "".join(outlines)) for status, outlines in drawn.items()
    )


def _outline(x: float, bar: Bar) -> str:
    y, width = round(HEIGHT - bar.height, 1), _WIDTH
    if bar.status is Status.NO_VERDICT:
        # Drawn as an outline, half of which lies outside.
        x, y, width = x + 0.5, y - 0.5, width - 1
    return f"M{x:g} {y:g}h{width:g}v{bar.height:g}h-{width:g}z"


def _label(rates: Sequence[Rate | None]) -> str:
    if not rates:
        return say("No runs yet")
    values = [rate.value for rate in rates if rate and rate.value is not None]
    runs, void = len(rates), len(rates) - len(values)
    if not values:
        return say_many("The last run: no verdict", "Last {runs} runs: no verdict", runs).format(
            runs=runs
        )
    low, high = f"{min(values):.0%}", f"{max(values):.0%}"
    if void:
        text = say_many(
            "Last {runs} runs: between {low} and {high}, {void} without a verdict",
            "Last {runs} runs: between {low} and {high}, {void} without a verdict",
            void,
        )
    elif low == high:
        text = say_many("The last run: {low}", "Last {runs} runs: {low} each", runs)
    else:
        text = say("Last {runs} runs: between {low} and {high}")
    return text.format(runs=runs, low=low, high=high, void=void)
