"""Past runs, rates and findings of an endpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, FilteredRelation, Q

from dashboard.charts.figures.chart_values import ChartPoint, MetricHistory
from dashboard.charts.series import read_series
from dashboard.core import labels
from dashboard.core.time_range import TimeWindow
from dashboard.models import Attempt, Endpoint, Run
from dashboard.models.run import ENDED, RunQuerySet, State
from dashboard.runs import observations
from health.rates import metric_rate
from probes.outcomes import Metric, Outcome

# A chart of more runs combines them into time steps.
MAX_RUNS = 600
MAX_STEPS = 400
# Fewer, since each step needs enough requests for a rate.
MAX_LIVE_STEPS = 125
RECENT_RUNS = 20


@dataclass(frozen=True, slots=True)
class RepeatedFinding:
    """A finding and the number of attempts of a run with it."""

    kind: str
    message: str
    times: int

    @property
    def kind_label(self) -> str:
        return labels.code_label(self.kind, labels.FINDINGS)


def read_metric_history(endpoint: Endpoint, metric: Metric, window: TimeWindow) -> MetricHistory:
    """Runs and live traffic of a window."""
    return MetricHistory(
        metric,
        runs=_run_points(endpoint, metric, window),
        live=_step_points(endpoint, metric, window, live=True),
        bounds=(window.start, window.end) if window.is_custom and window.start else None,
    )


def ended_runs(endpoint: Endpoint, window: TimeWindow) -> RunQuerySet:
    """The runs that ended in a window, newest first."""
    runs = Run.objects.of(endpoint).filter(finished_at__isnull=False)
    if window.start:
        runs = runs.filter(finished_at__gte=window.start)
    if window.is_custom:
        runs = runs.filter(finished_at__lte=window.end)
    return runs.order_by("-finished_at", "-id")


def window_start(endpoint: Endpoint, window: TimeWindow) -> datetime:
    """The start of the window; without one, the creation of the first profile."""
    if window.start:
        return window.start
    first = endpoint.profiles.order_by("epoch").values_list("created_at", flat=True).first()
    return first or endpoint.created_at


def _run_points(endpoint: Endpoint, metric: Metric, window: TimeWindow) -> list[ChartPoint]:
    """The ended runs of a window, oldest first; combined into steps if there are many.

    Omits runs without trials of the metric, but includes runs without any verdict.
    """
    runs = _runs_with_metric(endpoint, metric, window)
    if len(runs) > MAX_RUNS:
        return _step_points(endpoint, metric, window, live=False)
    relevant = [run for run in runs if run.trials is not None or run.state != State.FINISHED]
    return sorted((_run_point(run, metric) for run in relevant), key=lambda row: row.at)


def _runs_with_metric(endpoint: Endpoint, metric: Metric, window: TimeWindow) -> list[Any]:
    of_metric = Q(metrics__metric=metric.value)
    runs: Any = (
        ended_runs(endpoint, window)
        .annotate(figures=FilteredRelation("metrics", condition=of_metric))
        .annotate(trials=F("figures__trials"), failures=F("figures__failures"))
        .select_related("profile")[: MAX_RUNS + 1]
    )
    return list(runs)


def _step_points(
    endpoint: Endpoint, metric: Metric, window: TimeWindow, *, live: bool
) -> list[ChartPoint]:
    since = dict(endpoint.profiles.values_list("epoch", "created_at"))
    series = read_series(
        endpoint,
        metric,
        lane=observations.LIVE if live else observations.PROBE,
        start=window.start or min(since.values()),
        end=window.end,
        most=MAX_LIVE_STEPS if live else MAX_STEPS,
    )
    return [
        ChartPoint(
            run_id=None,
            at=point.at,
            epoch=point.epoch,
            epoch_since=since[point.epoch],
            rate=metric_rate(metric, point.trials, point.failures),
            step=series.step,
            live=live,
        )
        for point in series.points
    ]


def recent_runs(endpoint: Endpoint) -> list[Run]:
    """The newest runs, ended or not."""
    return list(Run.objects.of(endpoint).newest_first()[:RECENT_RUNS])


def latest_findings(endpoint: Endpoint) -> list[RepeatedFinding]:
    """The findings of the last ended run, most frequent first."""
    run = Run.objects.of(endpoint).filter(state__in=ENDED).newest_first().first()
    if run is None:
        return []
    counts = Counter(
        (finding["kind"], finding["message"])
        for attempt in Attempt.objects.of(run).exclude(outcome=Outcome.PASS.value)
        for finding in attempt.findings
    )
    return [
        RepeatedFinding(kind, message, times) for (kind, message), times in counts.most_common(5)
    ]


def _run_point(run: Any, metric: Metric) -> ChartPoint:
    assert run.finished_at is not None  # the constraint run_ended_iff_finished_at
    rate = None if run.trials is None else metric_rate(metric, run.trials, run.failures)
    since = run.profile.created_at
    return ChartPoint(run.pk, run.finished_at, run.key_epoch, since, rate, run.suite, run.simulated)
