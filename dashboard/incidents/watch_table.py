"""Every metric under watch as a row: what is normal, what the last run said, how far an alarm is.

And how small a drop could be found at all, so that nobody believes more than the sample says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log

from django.utils.translation import gettext as _

from dashboard.core import durations
from dashboard.models import Endpoint, RunMetric
from dashboard.trust.text import shown
from health import detector
from health.detector import PROBE, BaselineState
from health.metric_names import metric_name
from health.metric_state import Alarm, MetricState
from health.modes import WATCHED
from health.power import detectable_drop
from health.rates import DIRECTIONS, Direction, Rate, metric_rate
from health.watch import YEAR, Watch
from probes.outcomes import Metric

WITHIN_RUNS = 10
WARN_AT = log(detector.WARN)
PROVEN_AT = log(detector.RECOVERY_ODDS)


@dataclass(frozen=True, slots=True)
class Table:
    """All metrics under watch, and what holds for each of them at this cadence."""

    rows: tuple[Watched, ...]
    alarm_at: float
    within: str  # the runs and the time in which a change is to be found
    warn_at: float = WARN_AT


@dataclass(frozen=True, slots=True)
class Watched:
    """One metric; rates are the way that the metric is shown."""

    metric: Metric
    known: BaselineState
    baseline: Rate | None
    runs: int
    reference: float | None
    last: Rate | None
    # Null where nothing has been compared yet.
    log_m: float | None
    alarm_at: float
    alarm: Alarm | None
    finds: str

    warn_at: float = WARN_AT
    proven_at: float = PROVEN_AT

    @property
    def name(self) -> str:
        return metric_name(self.metric)

    @property
    def known_words(self) -> str:
        """How much the baseline is worth."""
        if self.known is BaselineState.NONE:
            return _("too few trials yet")
        return _("frozen") if self.known is BaselineState.FROZEN else _("provisional")

    @property
    def height(self) -> float:
        """What a meter from nought shows of the sums."""
        return min(max(self.log_m or 0.0, 0.0), self.alarm_at)

    @property
    def warns(self) -> bool:
        return self.log_m is not None and self.log_m >= self.warn_at


def read(endpoint: Endpoint, watch: Watch) -> Table:
    """The metrics under watch, in their order; one query."""
    counted = RunMetric.objects.filter(run_id=watch.last, watched_trials__gt=0)
    last = {Metric(row.metric): (row.watched_trials, row.watched_failures) for row in counted}
    found = tuple(_watched(metric, watch.gauge(metric), last, endpoint) for metric in WATCHED)
    span = durations.format_rough_duration(WITHIN_RUNS * endpoint.ttl)
    within = _("{count} runs ({span})").format(count=WITHIN_RUNS, span=span)
    return Table(found, detector.alarm_threshold(YEAR / endpoint.ttl), within)


def _watched(
    metric: Metric, gauge: MetricState, last: Mapping[Metric, tuple[int, int]], endpoint: Endpoint
) -> Watched:
    baseline = gauge.baseline
    reference = gauge.current_reference(PROBE)
    log_m = detector.log_mean(gauge.sums)
    return Watched(
        metric=metric,
        known=gauge.known(PROBE),
        baseline=_rate(metric, baseline.trials, baseline.trials - baseline.successes),
        runs=baseline.runs,
        reference=None if reference is None else shown(metric, reference),
        last=_rate(metric, *last.get(metric, (0, 0))),
        log_m=None if log_m == -inf else log_m,
        alarm_at=detector.alarm_threshold(YEAR / endpoint.ttl),
        alarm=gauge.alarm,
        finds=_finds(metric, gauge, last.get(metric, (0, 0))[0], endpoint),
    )


def _rate(metric: Metric, trials: int, failures: int) -> Rate | None:
    return metric_rate(metric, trials, failures) if trials else None


def _finds(metric: Metric, gauge: MetricState, trials: int, endpoint: Endpoint) -> str:
    """The smallest change that would be found soon, at this cadence and so many trials."""
    reference, baseline = gauge.current_reference(PROBE), gauge.baseline
    trials = trials or round(baseline.trials / max(baseline.runs, 1))
    if reference is None or not trials:
        return ""
    drop = _drop(round(reference, 4), trials, detector.alarm_threshold(YEAR / endpoint.ttl))
    if drop is None:
        return _("not even a collapse")
    high = DIRECTIONS[metric] is Direction.HIGH
    said = _("a drop of {points} points") if high else _("a rise of {points} points")
    return said.format(points=f"{drop * 100:.0f}")


@lru_cache(maxsize=4096)
def _drop(reference: float, trials: int, log_threshold: float) -> float | None:
    return detectable_drop(reference, trials, log_threshold, WITHIN_RUNS, PROBE)
