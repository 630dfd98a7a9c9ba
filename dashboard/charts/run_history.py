"""What the pages of an endpoint and of a run read about the past."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, FilteredRelation, Q

from dashboard.charts.figures.chart_values import Row, Shown
from dashboard.charts.series import series
from dashboard.core import labels
from dashboard.core.time_range import TimeWindow
from dashboard.models import Attempt, Endpoint, Run
from dashboard.models.run import ENDED, RunQuerySet, State
from dashboard.runs import observations
from health.rates import metric_rate
from probes.outcomes import Metric, Outcome

# A chart of more runs than this shows them together, by spans of time.
MOST_RUNS = 600
MOST_STEPS = 400
# Fewer, since each has to hold enough requests for a rate.
MOST_LIVE_STEPS = 125
RECENT_RUNS = 20


@dataclass(frozen=True, slots=True)
class Repeated:
    """A finding and in how many attempts of a run it was made."""

    kind: str
    message: str
    times: int

    @property
    def kind_words(self) -> str:
        return labels.code_label(self.kind, labels.FINDINGS)


def shown(endpoint: Endpoint, metric: Metric, window: TimeWindow) -> Shown:
    """Runs and live traffic of a window, for the chart of a metric."""
    return Shown(
        metric,
        runs=_run_rows(endpoint, metric, window),
        live=_step_rows(endpoint, metric, window, live=True),
        bounds=(window.start, window.end) if window.is_custom and window.start else None,
    )


def ended(endpoint: Endpoint, window: TimeWindow) -> RunQuerySet:
    """The runs that ended in a window, the newest first."""
    runs = Run.objects.of(endpoint).filter(finished_at__isnull=False)
    if window.start:
        runs = runs.filter(finished_at__gte=window.start)
    if window.is_custom:
        runs = runs.filter(finished_at__lte=window.end)
    return runs.order_by("-finished_at", "-id")


def beginning(endpoint: Endpoint, window: TimeWindow) -> datetime:
    """When the window begins; without a start of its own, with the first profile."""
    if window.start:
        return window.start
    first = endpoint.profiles.order_by("epoch").values_list("created_at", flat=True).first()
    return first or endpoint.created_at


def _run_rows(endpoint: Endpoint, metric: Metric, window: TimeWindow) -> list[Row]:
    """The ended runs of a window, the oldest first; together by steps where there are many.

    A run that asked nothing of the metric is left out; one without any verdict is there.
    """
    runs = _runs(endpoint, metric, window)
    if len(runs) > MOST_RUNS:
        return _step_rows(endpoint, metric, window, live=False)
    asked = [run for run in runs if run.trials is not None or run.state != State.FINISHED]
    return sorted((_row(run, metric) for run in asked), key=lambda row: row.at)


def _runs(endpoint: Endpoint, metric: Metric, window: TimeWindow) -> list[Any]:
    of_metric = Q(metrics__metric=metric.value)
    runs: Any = (
        ended(endpoint, window)
        .annotate(figures=FilteredRelation("metrics", condition=of_metric))
        .annotate(trials=F("figures__trials"), failures=F("figures__failures"))
        .select_related("profile")[: MOST_RUNS + 1]
    )
    return list(runs)


def _step_rows(endpoint: Endpoint, metric: Metric, window: TimeWindow, *, live: bool) -> list[Row]:
    since = dict(endpoint.profiles.values_list("epoch", "created_at"))
    found = series(
        endpoint,
        metric,
        lane=observations.LIVE if live else observations.PROBE,
        start=window.start or min(since.values()),
        end=window.end,
        most=MOST_LIVE_STEPS if live else MOST_STEPS,
    )
    return [
        Row(
            run_id=None,
            at=point.at,
            epoch=point.epoch,
            epoch_since=since[point.epoch],
            rate=metric_rate(metric, point.trials, point.failures),
            step=found.step,
            live=live,
        )
        for point in found.points
    ]


def recent_runs(endpoint: Endpoint) -> list[Run]:
    """The newest runs, ended or not."""
    return list(Run.objects.of(endpoint).newest_first()[:RECENT_RUNS])


def latest_findings(endpoint: Endpoint) -> list[Repeated]:
    """What was found in the last ended run, the most frequent first."""
    run = Run.objects.of(endpoint).filter(state__in=ENDED).newest_first().first()
    if run is None:
        return []
    found = Counter(
        (finding["kind"], finding["message"])
        for attempt in Attempt.objects.of(run).exclude(outcome=Outcome.PASS.value)
        for finding in attempt.findings
    )
    return [Repeated(kind, message, times) for (kind, message), times in found.most_common(5)]


def _row(run: Any, metric: Metric) -> Row:
    assert run.finished_at is not None  # the constraint run_ended_iff_finished_at
    rate = None if run.trials is None else metric_rate(metric, run.trials, run.failures)
    since = run.profile.created_at
    return Row(run.pk, run.finished_at, run.key_epoch, since, rate, run.suite, run.simulated)
