"""Every metric of a window in small: its line, and its rate over all of the time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.charts import run_history
from dashboard.charts.figures.small_multiples import Dot, Drawn, draw
from dashboard.charts.series import every_metric
from dashboard.core.sql import fetch_rows
from dashboard.core.time_range import TimeWindow
from dashboard.models import Endpoint
from dashboard.runs import observations
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction, Rate, metric_rate
from probes.outcomes import Metric

# Few enough that each holds some runs, else the interval jumps from one to the next.
STEPS = 24
Counted = tuple[datetime, int, int]


@dataclass(frozen=True, slots=True)
class Small:
    """One metric; `rate` is None where no run of the window has a trial of it."""

    metric: Metric
    drawn: Drawn | None
    rate: Rate | None
    points: int

    @property
    def name(self) -> str:
        return metric_name(self.metric)

    @property
    def is_high_good(self) -> bool:
        return DIRECTIONS[self.metric] is Direction.HIGH


def read(endpoint: Endpoint, window: TimeWindow) -> list[Small]:
    """All metrics in their order; neither queries nor rows read grow with the runs."""
    newest = run_history.ended(endpoint, window).values_list("finished_at", flat=True)
    times = [at for at in newest[: run_history.MOST_RUNS + 1] if at]
    many = len(times) > run_history.MOST_RUNS
    first = run_history.beginning(endpoint, window) if many or not times else times[-1]
    last = times[0] if times else window.end
    counted = (_by_steps if many else _by_run)(endpoint, first, last)
    return [_small(metric, counted.get(metric, ()), first, last) for metric in Metric]


def _by_run(endpoint: Endpoint, first: datetime, last: datetime) -> Mapping[Metric, list[Counted]]:
    profiles = list(endpoint.profiles.values_list("id", flat=True))
    step = max((last - first) / STEPS, timedelta(seconds=1))
    wanted = {"profiles": profiles, "metrics": [metric.value for metric in Metric]}
    wanted |= {"start": first, "end": last, "step": step}
    counted: dict[Metric, list[Counted]] = defaultdict(list)
    for name, at, trials, failures in fetch_rows(_OF_RUNS, wanted):
        counted[Metric(name)].append((at, int(trials), int(failures)))
    return counted


def _by_steps(
    endpoint: Endpoint, first: datetime, last: datetime
) -> Mapping[Metric, list[Counted]]:
    points = every_metric(endpoint, lane=observations.PROBE, start=first, end=last, most=STEPS)
    return {
        metric: [(max(point.at, first), point.trials, point.failures) for point in found]
        for metric, found in points.items()
    }


def _small(metric: Metric, counted: Sequence[Counted], first: datetime, last: datetime) -> Small:
    span = last - first
    dots = [
        Dot((at - first) / span if span else 1.0, metric_rate(metric, trials, failures))
        for at, trials, failures in counted
    ]
    trials = sum(each[1] for each in counted)
    failures = sum(each[2] for each in counted)
    rate = metric_rate(metric, trials, failures) if trials else None
    return Small(metric, draw(dots), rate, len(dots))


_OF_RUNS = """
SELECT metric, date_bin(%(step)s, finished_at, %(start)s) AS at, sum(trials), sum(failures)
FROM dashboard_runmetric
WHERE profile_id = ANY(%(profiles)s::bigint[]) AND metric = ANY(%(metrics)s)
    AND finished_at >= %(start)s AND finished_at <= %(end)s
GROUP BY 1, 2 ORDER BY 1, 2
"""
