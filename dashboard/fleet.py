"""What the fleet page reads: six queries, however many endpoints there are."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, FilteredRelation, OuterRef, Q
from django.db.models.functions import JSONObject

from dashboard import conditions, progress
from dashboard.charts.sparkline import SLOTS, Sparkline, sparkline
from dashboard.conditions import UNKNOWN, Condition
from dashboard.models import Endpoint, Run
from dashboard.models.endpoint import EndpointQuerySet
from dashboard.models.run import ENDED
from dashboard.progress import Progress
from health.metrics import Rate, rate_of
from health.status import Standing, Status, status_of
from probes.attempts import Metric

PAGE = 100
_ORDER = {status: place for place, status in enumerate(Status)}


@dataclass(frozen=True, slots=True)
class Summary:
    """An endpoint with what its last run and its watch say."""

    endpoint: Endpoint
    status: Status
    last_run_id: int | None
    last_ended_at: datetime | None
    rate: Rate | None
    active: Progress | None
    condition: Condition = UNKNOWN


@dataclass(frozen=True, slots=True)
class Listed:
    """A row of the page."""

    summary: Summary
    spark: Sparkline


@dataclass(frozen=True, slots=True)
class Fleet:
    """All endpoints, worst first."""

    summaries: tuple[Summary, ...]

    @property
    def counts(self) -> list[tuple[Status, int]]:
        """How many there are of each status that occurs, worst first."""
        found = Counter(summary.status for summary in self.summaries)
        return [(status, found[status]) for status in Status if found[status]]

    @property
    def digest(self) -> str:
        """Changes when anything that the page shows has changed, apart from the time of day."""
        facts = [
            (s.endpoint.pk, s.endpoint.updated_at, s.endpoint.next_due_at, s.status, s.last_run_id)
            + (s.condition.severities, s.condition.modes)
            + ((s.active.run.pk, s.active.run.state, s.active.done) if s.active else ())
            for s in self.summaries
        ]
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def read(now: datetime) -> Fleet:
    """Every endpoint that is kept, with its status."""
    active, found = progress.of_active(), conditions.of_all()
    summaries = [
        _summary(endpoint, active.get(endpoint.pk), found.get(endpoint.pk, UNKNOWN), now)
        for endpoint in _with_latest(Endpoint.objects.kept())
    ]
    return Fleet(tuple(sorted(summaries, key=lambda s: (_ORDER[s.status], s.endpoint.slug))))


def listed(summaries: Sequence[Summary]) -> list[Listed]:
    """The given endpoints with the bars of their last runs."""
    ids = [summary.endpoint.pk for summary in summaries]
    found = (
        Endpoint.objects.filter(pk__in=ids)
        .annotate(recent=ArraySubquery(_ended_runs()[:SLOTS]))
        .values_list("pk", "recent")
    )
    rates = {pk: [_rate(run) for run in reversed(recent)] for pk, recent in found}
    return [Listed(summary, sparkline(rates[summary.endpoint.pk])) for summary in summaries]


def summary_of(endpoint: Endpoint, now: datetime) -> Summary:
    """One endpoint with its status; whether a run is under way is for its page to find out."""
    condition = conditions.of_all(endpoint).get(endpoint.pk, UNKNOWN)
    found = _with_latest(Endpoint.objects.filter(pk=endpoint.pk)).get()
    return _summary(found, None, condition, now)


def _with_latest(endpoints: EndpointQuerySet) -> Any:
    return endpoints.annotate(latest=ArraySubquery(_ended_runs("id", "finished_at")[:1]))


def _ended_runs(*fields: str) -> Any:
    parse_success = Q(metrics__metric=Metric.PARSE_SUCCESS.value)
    figures = {"trials": F("parsed__trials"), "failures": F("parsed__failures")}
    return (
        Run.objects.filter(endpoint=OuterRef("pk"), state__in=ENDED)
        .annotate(parsed=FilteredRelation("metrics", condition=parse_success))
        .newest_first()
        .values(facts=JSONObject(**figures, **{name: F(name) for name in fields}))
    )


def _summary(
    endpoint: Any, active: Progress | None, condition: Condition, now: datetime
) -> Summary:
    last = endpoint.latest[0] if endpoint.latest else None
    ended_at = datetime.fromisoformat(last["finished_at"]) if last else None
    rate = _rate(last) if last else None
    standing = Standing(
        endpoint.enabled,
        endpoint.ttl,
        ended_at,
        rate,
        known=condition.known,
        worst=condition.worst,
        below_gate=bool(condition.below_gate),
    )
    status, run_id = status_of(standing, now), last["id"] if last else None
    return Summary(endpoint, status, run_id, ended_at, rate, active, condition)


def _rate(run: dict[str, Any]) -> Rate | None:
    if run["trials"] is None:
        return None
    return rate_of(Metric.PARSE_SUCCESS, run["trials"], run["failures"])
