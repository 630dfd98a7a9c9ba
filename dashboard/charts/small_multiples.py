"""A small chart per metric of a window: its line and its overall rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.charts import run_history
from dashboard.charts.figures.small_multiples import SmallLine, SmallPoint, draw_line
from dashboard.charts.series import read_series_of_metrics
from dashboard.core.sql import fetch_rows
from dashboard.core.time_range import TimeWindow
from dashboard.models import Endpoint
from dashboard.runs import observations
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction, Rate, metric_rate
from probes.outcomes import Metric

# Few enough that each step has several runs, else the interval jumps between steps.
STEPS = 24
StepCounts = tuple[datetime, int, int]


@dataclass(frozen=True, slots=True)
class SmallChart:
    """`rate` is None if no run of the window has a trial of the metric."""

    metric: Metric
    drawn: SmallLine | None
    rate: Rate | None
    points: int

    @property
    def name(self) -> str:
        return metric_name(self.metric)

    @property
    def is_high_good(self) -> bool:
        return DIRECTIONS[self.metric] is Direction.HIGH


def read_small_charts(endpoint: Endpoint, window: TimeWindow) -> list[SmallChart]:
    """All metrics in order. The number of queries and rows does not grow with the runs."""
    newest = run_history.ended_runs(endpoint, window).values_list("finished_at", flat=True)
    times = [at for at in newest[: run_history.MAX_RUNS + 1] if at]
    many = len(times) > run_history.MAX_RUNS
    first = run_history.window_start(endpoint, window) if many or not times else times[-1]
    last = times[0] if times else window.end
    counted = (_counts_of_rollups if many else _counts_of_runs)(endpoint, first, last)
    return [_small_chart(metric, counted.get(metric, ()), first, last) for metric in Metric]


def _counts_of_runs(
    endpoint: Endpoint, first: datetime, last: datetime
) -> Mapping[Metric, list[StepCounts]]:
    profiles = list(endpoint.profiles.values_list("id", flat=True))
    step = max((last - first) / STEPS, timedelta(seconds=1))
    parameters = {"profiles": profiles, "metrics": [metric.value for metric in Metric]}
    parameters |= {"start": first, "end": last, "step": step}
    counted: dict[Metric, list[StepCounts]] = defaultdict(list)
    for name, at, trials, failures in fetch_rows(_RUN_COUNTS, parameters):
        counted[Metric(name)].append((at, int(trials), int(failures)))
    return counted


def _counts_of_rollups(
    endpoint: Endpoint, first: datetime, last: datetime
) -> Mapping[Metric, list[StepCounts]]:
    points = read_series_of_metrics(
        endpoint, lane=observations.PROBE, start=first, end=last, most=STEPS
    )
    return {
        metric: [(max(point.at, first), point.trials, point.failures) for point in metric_points]
        for metric, metric_points in points.items()
    }


def _small_chart(
    metric: Metric, counted: Sequence[StepCounts], first: datetime, last: datetime
) -> SmallChart:
    span = last - first
    dots = [
        SmallPoint((at - first) / span if span else 1.0, metric_rate(metric, trials, failures))
        for at, trials, failures in counted
    ]
    trials = sum(each[1] for each in counted)
    failures = sum(each[2] for each in counted)
    rate = metric_rate(metric, trials, failures) if trials else None
    return SmallChart(metric, draw_line(dots), rate, len(dots))


_RUN_COUNTS = """
SELECT metric, date_bin(%(step)s, finished_at, %(start)s) AS at, sum(trials), sum(failures)
FROM dashboard_runmetric
WHERE profile_id = ANY(%(profiles)s::bigint[]) AND metric = ANY(%(metrics)s)
    AND finished_at >= %(start)s AND finished_at <= %(end)s
GROUP BY 1, 2 ORDER BY 1, 2
"""
