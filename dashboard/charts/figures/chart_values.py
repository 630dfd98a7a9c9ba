"""What a chart of a metric shows, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.charts.figures.lanes import NOTHING, Happened
from health.rates import Rate
from health.translation import mark, say
from probes.outcomes import Metric

Bounds = tuple[datetime, datetime]
_SUITES = {"light": mark("light"), "full": mark("full")}


@dataclass(frozen=True, slots=True)
class Row:
    """One ended run; `rate` is None where it gave no verdict.

    With a `step` it is all runs of that span of time, which begins at `at`; or, where it is
    `live`, all that clients sent in it.
    """

    run_id: int | None
    at: datetime
    epoch: int
    epoch_since: datetime
    rate: Rate | None
    suite: str = "light"
    simulated: bool = False
    step: timedelta | None = None
    live: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """All that a chart of a metric shows, in order of time; there is a row in one of the lanes.

    `bounds` are the ends of the axis where somebody chose them; else it fits what there is.
    """

    metric: Metric
    runs: Sequence[Row] = ()
    live: Sequence[Row] = ()
    happened: Happened = NOTHING
    bounds: Bounds | None = None

    @property
    def rows(self) -> list[Row]:
        """Both lanes together."""
        return sorted([*self.runs, *self.live], key=lambda row: row.at)


def suite_word(suite: str) -> str:
    """The suite in the reader's language; one that is not known, as it is."""
    return say(_SUITES[suite]) if suite in _SUITES else suite
