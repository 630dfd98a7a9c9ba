"""Reads endpoints with their status: registration, last run, watch and the run in progress."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.urls import reverse

from dashboard.core.sql import fetch_rows
from dashboard.models import Endpoint
from dashboard.models.people import Teams
from dashboard.models.watch import Lane
from dashboard.trust.watch_summary import UNKNOWN, WatchSummary, parse_watch_summary
from health.rates import Rate, metric_rate
from health.status import Status, StatusFacts, endpoint_status
from probes.outcomes import Metric


# A tuple, because one request makes a thousand of them.
class FleetEndpoint(NamedTuple):
    """An endpoint as registered, with the stage in force."""

    pk: int
    slug: str
    provider: str
    model: str
    base_url: str
    tags: list[str]
    enabled: bool
    # Times are seconds since 1970: ten times faster than datetimes, and few are shown.
    ttl_s: float
    next_due_s: float
    last_finished_s: float | None
    updated_s: float
    profile_id: int
    stage: str
    team: str  # its name; empty without one
    waiting_stage: str  # of the profile that waits beside the one in force; empty without one

    @property
    def next_due_at(self) -> datetime:
        return datetime.fromtimestamp(self.next_due_s, UTC)

    def get_absolute_url(self) -> str:
        return reverse("endpoint", args=[self.slug])


class ActiveRun(NamedTuple):
    """The run in progress."""

    run_id: int
    state: str
    done: int
    planned: int


@dataclass(frozen=True, slots=True)
class EndpointSummary:
    """An endpoint with its last run and its watch state."""

    endpoint: FleetEndpoint
    status: Status
    last_run_id: int | None
    last_ended_at: datetime | None
    rate: Rate | None
    active: ActiveRun | None
    condition: WatchSummary = UNKNOWN
    void_kind: str = ""  # why the last run has no verdict

    @property
    def digest(self) -> str:
        """Changes with anything that a row shows except relative times."""
        entry = self.endpoint
        facts = (
            *(entry.updated_s, entry.next_due_s, entry.stage, entry.waiting_stage, self.status),
            self.last_run_id,
            *(self.condition.incidents, self.condition.modes, self.condition.below_gate),
            self.active,
        )
        return hashlib.blake2b(repr(facts).encode(), digest_size=6).hexdigest()


def read_summary(endpoint: Endpoint, now: datetime) -> EndpointSummary:
    (record,) = fetch_rows(_ONE_ENDPOINT, {"lane": Lane.PROBE.value, "endpoint": endpoint.pk})
    return _summary_from_row(record, now)


def read_summaries(now: datetime, teams: Teams) -> list[EndpointSummary]:
    """Every endpoint of the teams that is not removed, with its status."""
    parameters: dict[str, Any] = {"lane": Lane.PROBE.value}
    if teams is not None:
        parameters["teams"] = list(teams)
    records = fetch_rows(_EVERY_ENDPOINT if teams is None else _OF_TEAMS, parameters)
    return [_summary_from_row(each, now) for each in records]


_ENDPOINT_FIELDS = len(FleetEndpoint._fields)


def _summary_from_row(record: tuple[Any, ...], now: datetime) -> EndpointSummary:
    entry = FleetEndpoint._make(record[:_ENDPOINT_FIELDS])
    run_id, ended_s, void_kind, trials, failures, *watched = record[_ENDPOINT_FIELDS:-4]
    watch, active_run = parse_watch_summary(*watched), record[-4:]
    ended_at = None if ended_s is None else datetime.fromtimestamp(ended_s, UTC)
    rate = None if trials is None else metric_rate(Metric.PARSE_SUCCESS, trials, failures)
    facts = StatusFacts(
        entry.enabled,
        timedelta(seconds=entry.ttl_s),
        ended_at,
        rate,
        void_kind or "",
        baseline=watch.known,
        worst=watch.worst,
        below_gate=bool(watch.below_gate),
    )
    active = None if active_run[0] is None else ActiveRun._make(active_run)
    return EndpointSummary(
        entry, endpoint_status(facts, now), run_id, ended_at, rate, active, watch, facts.void_kind
    )


# The columns of FleetEndpoint, then the last run with its parse success, the watch, and the run in
# progress. A run that was stopped, or that the budget kept from starting, says nothing about the
# endpoint and leaves the verdict of the run before. Each endpoint costs a few index lookups,
# independent of the length of its history.
_EVERY_ENDPOINT = """
SELECT e.id, e.slug, e.provider, e.model, e.base_url, e.tags, e.enabled,
    extract(epoch FROM e.ttl)::float8, extract(epoch FROM e.next_due_at)::float8,
    extract(epoch FROM e.last_finished_at)::float8, extract(epoch FROM e.updated_at)::float8,
    p.id, coalesce(f.stage, p.stage), coalesce(t.name, ''),
    CASE WHEN f.id <> p.id THEN p.stage ELSE '' END,
    last.id, extract(epoch FROM last.finished_at)::float8, last.void_kind, m.trials, m.failures,
    w.known, array_to_string(w.below_gate, ','), i.opened, s.modes,
    a.id, a.state, a.done, a.planned
FROM dashboard_endpoint e
JOIN dashboard_profile p ON p.endpoint_id = e.id AND p.ended_at IS NULL
LEFT JOIN dashboard_profile f ON f.endpoint_id = e.id AND f.in_force
LEFT JOIN dashboard_team t ON t.id = e.team_id
LEFT JOIN LATERAL (
    SELECT id, finished_at, void_kind FROM dashboard_run
    WHERE endpoint_id = e.id AND state IN ('finished', 'failed') AND void_kind <> 'over_budget'
    ORDER BY id DESC LIMIT 1) last ON true
LEFT JOIN dashboard_runmetric m ON m.run_id = last.id AND m.metric = 'parse_success'
LEFT JOIN dashboard_watch w ON w.profile_id = p.id AND w.lane = %(lane)s
LEFT JOIN (
    SELECT profile_id,
        string_agg(metric || ':' || severity, ',' ORDER BY severity DESC, id) AS opened
    FROM dashboard_incident WHERE ended_at IS NULL GROUP BY 1) i ON i.profile_id = p.id
LEFT JOIN (
    SELECT o.endpoint_id, string_agg(mode, ',') AS modes
    FROM dashboard_modeswitch JOIN dashboard_profile o ON o.id = profile_id
    WHERE off_at IS NULL AND (expires_at IS NULL OR expires_at > statement_timestamp())
    GROUP BY 1) s ON s.endpoint_id = e.id
LEFT JOIN dashboard_run a ON a.endpoint_id = e.id AND a.finished_at IS NULL
WHERE e.removed_at IS NULL
"""
_OF_TEAMS = f"{_EVERY_ENDPOINT} AND e.team_id = ANY(%(teams)s::bigint[])"
_ONE_ENDPOINT = f"{_EVERY_ENDPOINT} AND e.id = %(endpoint)s"
