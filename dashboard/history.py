"""What the pages of an endpoint and of a run read about the past."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import F, FilteredRelation, Q

from dashboard.charts.rows import Mark, Row, Shown
from dashboard.models import Attempt, Endpoint, FingerprintChange, Run
from dashboard.models.run import ENDED, State
from dashboard.series import series
from dashboard.services import observations
from health.metrics import rate_of
from probes.attempts import Metric, Outcome

# A chart of more runs than this shows them together, by spans of time.
MOST_RUNS = 600
MOST_STEPS = 400
# Fewer, since each has to hold enough requests for a rate.
MOST_LIVE_STEPS = 125
MOST_MARKS = 100
RECENT_RUNS = 20


class Range(StrEnum):
    """How far back a chart looks."""

    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    ALL = "all"

    @property
    def span(self) -> timedelta | None:
        spans = {Range.DAY: timedelta(days=1), Range.WEEK: timedelta(days=7)}
        return None if self is Range.ALL else spans.get(self, timedelta(days=30))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A finding and in how many attempts of a run it was made."""

    kind: str
    message: str
    times: int

    @property
    def kind_words(self) -> str:
        return self.kind.replace("_", " ")


def range_named(name: str) -> Range:
    """The range of that name, else the week."""
    return next((span for span in Range if span.value == name), Range.WEEK)


def metric_named(name: str) -> Metric:
    """The metric of that name, else parse success."""
    return next((metric for metric in Metric if metric.value == name), Metric.PARSE_SUCCESS)


def shown(endpoint: Endpoint, metric: Metric, span: Range, now: datetime) -> Shown:
    """Runs, live traffic and new fingerprints of a span, for the chart of a metric."""
    return Shown(
        metric,
        runs=_run_rows(endpoint, metric, span, now),
        live=_step_rows(endpoint, metric, span, now, live=True),
        marks=_marks(endpoint, span, now),
    )


def _run_rows(endpoint: Endpoint, metric: Metric, span: Range, now: datetime) -> list[Row]:
    """The ended runs of a span, the oldest first; together by steps where there are many.

    A run that asked nothing of the metric is left out; one without any verdict is there.
    """
    runs = _runs(endpoint, metric, span, now)
    if len(runs) > MOST_RUNS:
        return _step_rows(endpoint, metric, span, now, live=False)
    asked = [run for run in runs if run.trials is not None or run.state != State.FINISHED]
    return sorted((_row(run, metric) for run in asked), key=lambda row: row.at)


def _runs(endpoint: Endpoint, metric: Metric, span: Range, now: datetime) -> list[Any]:
    of_metric = Q(metrics__metric=metric.value)
    runs: Any = (
        Run.objects.of(endpoint)
        .filter(state__in=ENDED, **({"finished_at__gte": now - span.span} if span.span else {}))
        .annotate(figures=FilteredRelation("metrics", condition=of_metric))
        .annotate(trials=F("figures__trials"), failures=F("figures__failures"))
        .select_related("profile")
        .newest_first()[: MOST_RUNS + 1]
    )
    return list(runs)


def _step_rows(
    endpoint: Endpoint, metric: Metric, span: Range, now: datetime, *, live: bool
) -> list[Row]:
    since = dict(endpoint.profiles.values_list("epoch", "created_at"))
    found = series(
        endpoint,
        metric,
        lane=observations.LIVE if live else observations.PROBE,
        start=now - span.span if span.span else min(since.values()),
        end=now,
        most=MOST_LIVE_STEPS if live else MOST_STEPS,
    )
    return [
        Row(
            run_id=None,
            at=point.at,
            epoch=point.epoch,
            epoch_since=since[point.epoch],
            rate=rate_of(metric, point.trials, point.failures),
            step=found.step,
            live=live,
        )
        for point in found.points
    ]


def _marks(endpoint: Endpoint, span: Range, now: datetime) -> list[Mark]:
    """The newest changes of the fingerprint in a span, the oldest first."""
    changes = FingerprintChange.objects.filter(profile__endpoint=endpoint)
    if span.span:
        changes = changes.filter(at__gte=now - span.span)
    newest = changes.order_by("-at", "-id")[:MOST_MARKS]
    return [Mark(change.at, change.fact, change.before, change.after) for change in newest][::-1]


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
    rate = None if run.trials is None else rate_of(metric, run.trials, run.failures)
    since = run.profile.created_at
    return Row(run.pk, run.finished_at, run.key_epoch, since, rate, run.suite, run.simulated)
