"""What the pages of an endpoint and of a run read about the past."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db.models import F, FilteredRelation, Q

from dashboard.charts.parse_success import Mark, Row
from dashboard.models import Attempt, Endpoint, FingerprintChange, Run
from dashboard.models.run import ENDED
from dashboard.series import series
from dashboard.services import observations
from health.metrics import rate_of
from probes.attempts import Metric, Outcome

# A chart of more runs than this shows them together, by spans of time.
MOST_RUNS = 600
MOST_STEPS = 400
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


def chart_rows(endpoint: Endpoint, span: Range, now: datetime) -> list[Row]:
    """The ended runs of a span, the oldest first; together by steps where there are many."""
    rows = _run_rows(endpoint, span, now)
    return rows if len(rows) <= MOST_RUNS else _step_rows(endpoint, span, now)


def _run_rows(endpoint: Endpoint, span: Range, now: datetime) -> list[Row]:
    parse_success = Q(metrics__metric=Metric.PARSE_SUCCESS.value)
    runs: Any = (
        Run.objects.of(endpoint)
        .filter(state__in=ENDED, **({"finished_at__gte": now - span.span} if span.span else {}))
        .annotate(parsed=FilteredRelation("metrics", condition=parse_success))
        .annotate(trials=F("parsed__trials"), failures=F("parsed__failures"))
        .select_related("profile")
        .newest_first()[: MOST_RUNS + 1]
    )
    rows = [_row(run, run.trials, run.failures) for run in runs]
    return sorted(rows, key=lambda row: row.at)


def _step_rows(endpoint: Endpoint, span: Range, now: datetime) -> list[Row]:
    since = dict(endpoint.profiles.values_list("epoch", "created_at"))
    found = series(
        endpoint,
        Metric.PARSE_SUCCESS,
        lane=observations.PROBE,
        start=now - span.span if span.span else min(since.values()),
        end=now,
        most=MOST_STEPS,
    )
    return [
        Row(
            run_id=None,
            at=point.at,
            epoch=point.epoch,
            epoch_since=since[point.epoch],
            rate=rate_of(Metric.PARSE_SUCCESS, point.trials, point.failures),
            step=found.step,
        )
        for point in found.points
    ]


def chart_marks(endpoint: Endpoint, span: Range, now: datetime) -> list[Mark]:
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


def _row(run: Run, trials: int | None, failures: int | None) -> Row:
    assert run.finished_at is not None  # the constraint run_ended_iff_finished_at
    measured = trials is not None and failures is not None
    rate = rate_of(Metric.PARSE_SUCCESS, trials or 0, failures or 0) if measured else None
    since = run.profile.created_at
    return Row(run.pk, run.finished_at, run.key_epoch, since, rate, run.suite, run.simulated)
