"""The values that a chart of a metric shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.charts.figures.lanes import NO_ANNOTATIONS, ChartAnnotations
from health.rates import Rate
from health.translation import mark, say
from probes.outcomes import Metric

Bounds = tuple[datetime, datetime]
_SUITES = {"light": mark("light"), "full": mark("full")}


@dataclass(frozen=True, slots=True)
class ChartPoint:
    """One ended run; `rate` is None without a verdict.

    With a `step` it combines all runs of the time step that begins at `at`, or, if `live`, all
    client requests in it.
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
class MetricHistory:
    """The points of a metric in order of time, at least one.

    `bounds` are the ends of the axis of a custom window; else the axis fits the points.
    """

    metric: Metric
    runs: Sequence[ChartPoint] = ()
    live: Sequence[ChartPoint] = ()
    annotations: ChartAnnotations = NO_ANNOTATIONS
    bounds: Bounds | None = None

    @property
    def rows(self) -> list[ChartPoint]:
        """Both lanes together."""
        return sorted([*self.runs, *self.live], key=lambda row: row.at)


def suite_label(suite: str) -> str:
    """The translated name of a suite; an unknown one unchanged."""
    return say(_SUITES[suite]) if suite in _SUITES else suite
