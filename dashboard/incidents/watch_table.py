"""The table of watched metrics: baseline, last run and distance to an alarm.

It also shows the smallest drop that could be detected, so that the sample is not overrated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log

from django.utils.translation import gettext as _

from dashboard.core import durations
from dashboard.models import Endpoint, RunMetric
from dashboard.trust.text import displayed_rate
from health import detector
from health.detector import PROBE, BaselineState
from health.metric_names import metric_name
from health.metric_state import Alarm, MetricState
from health.modes import WATCHED
from health.power import detectable_drop
from health.rates import DIRECTIONS, Direction, Rate, metric_rate
from health.watch import Watch, watch_threshold
from probes.outcomes import Metric

WITHIN_RUNS = 10
WARN_AT = log(detector.WARN)
PROVEN_AT = log(detector.RECOVERY_ODDS)


@dataclass(frozen=True, slots=True)
class WatchTable:
    """All watched metrics, and the alarm levels at this cadence."""

    rows: tuple[WatchedMetric, ...]
    alarm_at: float
    within: str  # the runs and the time within which a change should be detected
    warn_at: float = WARN_AT


@dataclass(frozen=True, slots=True)
class WatchedMetric:
    """One metric; rates are as the metric is shown."""

    metric: Metric
    known: BaselineState
    baseline: Rate | None
    runs: int
    reference: float | None
    last: Rate | None
    # None before the first comparison.
    log_m: float | None
    alarm_at: float
    alarm: Alarm | None
    detectable: str

    warn_at: float = WARN_AT
    proven_at: float = PROVEN_AT

    @property
    def name(self) -> str:
        return metric_name(self.metric)

    @property
    def known_label(self) -> str:
        """The state of the baseline."""
        if self.known is BaselineState.NONE:
            return _("too few trials yet")
        return _("frozen") if self.known is BaselineState.FROZEN else _("provisional")

    @property
    def meter_value(self) -> float:
        """The evidence as a meter from zero to the alarm level shows it."""
        return min(max(self.log_m or 0.0, 0.0), self.alarm_at)

    @property
    def is_warning(self) -> bool:
        return self.log_m is not None and self.log_m >= self.warn_at


def read_watch_table(endpoint: Endpoint, watch: Watch) -> WatchTable:
    """Read the watched metrics, in their order, in one query."""
    counted = RunMetric.objects.filter(run_id=watch.last, watched_trials__gt=0)
    last = {Metric(row.metric): (row.watched_trials, row.watched_failures) for row in counted}
    rows = tuple(_watched_metric(metric, watch.gauge(metric), last, endpoint) for metric in WATCHED)
    span = durations.format_rough_duration(WITHIN_RUNS * endpoint.ttl)
    within = _("{count} runs ({span})").format(count=WITHIN_RUNS, span=span)
    return WatchTable(rows, watch_threshold(endpoint.ttl), within)


def _watched_metric(
    metric: Metric, gauge: MetricState, last: Mapping[Metric, tuple[int, int]], endpoint: Endpoint
) -> WatchedMetric:
    baseline = gauge.baseline
    reference = gauge.current_reference(PROBE)
    log_m = detector.log_mean(gauge.sums)
    return WatchedMetric(
        metric=metric,
        known=gauge.known(PROBE),
        baseline=_rate(metric, baseline.trials, baseline.trials - baseline.successes),
        runs=baseline.runs,
        reference=None if reference is None else displayed_rate(metric, reference),
        last=_rate(metric, *last.get(metric, (0, 0))),
        log_m=None if log_m == -inf else log_m,
        alarm_at=watch_threshold(endpoint.ttl),
        alarm=gauge.alarm,
        detectable=_detectable_text(metric, gauge, last.get(metric, (0, 0))[0], endpoint),
    )


def _rate(metric: Metric, trials: int, failures: int) -> Rate | None:
    return metric_rate(metric, trials, failures) if trials else None


def _detectable_text(metric: Metric, gauge: MetricState, trials: int, endpoint: Endpoint) -> str:
    """The smallest change that this cadence and these trials would detect soon."""
    reference, baseline = gauge.current_reference(PROBE), gauge.baseline
    trials = trials or round(baseline.trials / max(baseline.runs, 1))
    if reference is None or not trials:
        return ""
    drop = _detectable_drop(round(reference, 4), trials, watch_threshold(endpoint.ttl))
    if drop is None:
        return _("not even a collapse")
    is_high_good = DIRECTIONS[metric] is Direction.HIGH
    message = _("a drop of {points} points") if is_high_good else _("a rise of {points} points")
    return message.format(points=f"{drop * 100:.0f}")


@lru_cache(maxsize=4096)
def _detectable_drop(reference: float, trials: int, log_threshold: float) -> float | None:
    return detectable_drop(reference, trials, log_threshold, WITHIN_RUNS, PROBE)
