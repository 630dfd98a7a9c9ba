"""Reads the state of the system in a few queries, independent of the length of the history.

Runs are read by the partial indexes on active and on recently ended ones; everything else is as
small as the fleet, or counted up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings

from dashboard.core import broker, partitions
from dashboard.core.broker import BrokerDown
from dashboard.core.sql import fetch_row, fetch_rows
from dashboard.models import Pulse
from dashboard.models.people import Teams
from dashboard.models.run import ACTIVE, HELD, State
from dashboard.runs.workers import ALIVE_WITHIN
from dashboard.system.state import (
    LastHour,
    NamedEndpoints,
    PartitionedTable,
    ProviderLoad,
    StoreState,
    SystemState,
    WorkerState,
)

MAX_COUNTED = 10_000
MAX_NAMED = 20
_PREFIX = "dashboard_"


@dataclass(frozen=True, slots=True)
class _ActiveRuns:
    """The active runs of one provider in one state."""

    provider: str
    state: str
    count: int
    claims: int
    takeovers: int
    expired: int
    waiting_since: datetime | None


def read_system_state(teams: Teams) -> SystemState:
    """The current state, by the clock of the database.

    Endpoints are counted and named for the teams only; the rest is for the whole installation.
    """
    now = _database_now()
    active = [_ActiveRuns(*line) for line in fetch_rows(_ACTIVE, {"grace": 2 * settings.RUN_LEASE})]
    endpoints, providers, stale, spent_out = _read_endpoints(teams)
    if teams is None:
        providers += [each.provider for each in active]
    workers = _read_workers()
    alive = tuple(worker for worker in workers if worker.seen_at >= now - ALIVE_WITHIN)
    lag = fetch_row(_SCHEDULER_LAG)
    return SystemState(
        at=now,
        scheduler_lag=lag[0] if lag else None,
        duties=dict(Pulse.objects.values_list("duty", "at")),
        runs={name.value: _count_runs(active, name) for name in ACTIVE},
        waiting_since=min((a.waiting_since for a in active if a.waiting_since), default=None),
        expired_leases=sum(a.expired for a in active),
        providers=_provider_loads(active, providers),
        last_hour=_read_last_hour(active),
        workers=alive,
        workers_gone=len(workers) - len(alive),
        endpoints=endpoints,
        stale=stale,
        spent_out=spent_out,
        store=_read_store(),
        wake_ups=_count_wake_ups(),
    )


def _database_now() -> datetime:
    row = fetch_row("SELECT statement_timestamp()")
    assert row is not None
    now = row[0]
    assert isinstance(now, datetime)
    return now


def _count_runs(active: list[_ActiveRuns], *states: str) -> int:
    return sum(a.count for a in active if a.state in states)


def _provider_loads(active: list[_ActiveRuns], known: list[str]) -> tuple[ProviderLoad, ...]:
    return tuple(
        _provider_load(name, [a for a in active if a.provider == name]) for name in sorted({*known})
    )


def _provider_load(name: str, active: list[_ActiveRuns]) -> ProviderLoad:
    limit = settings.PROVIDER_RUNS_EXCEPT.get(name, settings.PROVIDER_RUNS)
    return ProviderLoad(name, _count_runs(active, State.QUEUED), _count_runs(active, *HELD), limit)


def _read_last_hour(active: list[_ActiveRuns]) -> LastHour:
    ended = fetch_rows(_ENDED, {"span": timedelta(hours=1)})
    return LastHour(
        ended={state: count for state, count, *_ in ended},
        claims=sum(a.claims for a in active) + sum(claims for _, _, claims, *_ in ended),
        takeovers=sum(a.takeovers for a in active) + sum(t for _, _, _, t, *_ in ended),
        attempts=sum(attempts for *_, attempts, _ in ended),
        void=sum(void for *_, void in ended),
    )


def _read_endpoints(teams: Teams) -> tuple[int, list[str], NamedEndpoints, NamedEndpoints]:
    team_ids = None if teams is None else list(teams)
    row = fetch_row(_ENDPOINTS, {"most": MAX_NAMED, "teams": team_ids})
    assert row is not None
    count, providers, stale, stale_slugs, spent, spent_slugs = row
    return (
        count,
        providers or [],
        NamedEndpoints(stale, tuple(stale_slugs or ())),
        NamedEndpoints(spent, tuple(spent_slugs or ())),
    )


def _read_workers() -> list[WorkerState]:
    return [WorkerState(*line) for line in fetch_rows(_WORKERS)]


def _read_store() -> StoreState:
    row = fetch_row(_STORE, {"most": MAX_COUNTED})
    assert row is not None
    database_bytes, lag, batches, overflow = row
    return StoreState(
        database_bytes=database_bytes,
        rollup_lag=lag,
        batches_waiting=batches,
        overflow_rows=overflow,
        tables=_read_tables(),
        missing=tuple(partitions.missing_partitions()),
    )


def _read_tables() -> tuple[PartitionedTable, ...]:
    parents = [*partitions.DAILY, *partitions.MONTHLY]
    values = {line[0]: line[1:] for line in fetch_rows(_TABLES, {"parents": parents})}
    return tuple(
        _partitioned_table(parent, *values.get(parent, (0, None, None, 0))) for parent in parents
    )


def _partitioned_table(
    parent: str, count: int, first: str | None, last: str | None, size: int
) -> PartitionedTable:
    name = parent.removeprefix(_PREFIX)
    return PartitionedTable(name, count, _partition_start(first), _partition_start(last), int(size))


def _partition_start(partition: str | None) -> date | None:
    if partition is None:
        return None
    digits = partition.rpartition("_")[2]
    return date.fromisoformat(digits if len(digits) == 8 else f"{digits}01")


def _count_wake_ups() -> int | None:
    try:
        return broker.count_waiting()
    except BrokerDown:
        return None


_ACTIVE = """
SELECT provider, state, count(*), sum(claims), sum(GREATEST(claims - 1, 0)),
    count(*) FILTER (WHERE lease_expires_at < statement_timestamp() - %(grace)s),
    min(not_before) FILTER (WHERE state = 'queued' AND not_before <= statement_timestamp())
FROM dashboard_run WHERE finished_at IS NULL GROUP BY 1, 2
"""

# Without the simulated history of the demo, which no worker claimed.
_ENDED = """
SELECT state, count(*), sum(claims), sum(GREATEST(claims - 1, 0)),
    sum(passed + failed + void), sum(void)
FROM dashboard_run
WHERE state IN ('finished', 'failed', 'abandoned')
    AND finished_at > statement_timestamp() - %(span)s AND NOT simulated
GROUP BY 1
"""

_SCHEDULER_LAG = """
SELECT statement_timestamp() - e.next_due_at FROM dashboard_endpoint e
WHERE e.enabled AND e.removed_at IS NULL AND e.next_due_at <= statement_timestamp()
    AND NOT EXISTS (SELECT 1 FROM dashboard_run r
        WHERE r.endpoint_id = e.id AND r.finished_at IS NULL)
ORDER BY e.next_due_at LIMIT 1
"""

# An endpoint without a finished run counts from its registration.
_ENDPOINTS = """
SELECT count(*), array_agg(DISTINCT provider ORDER BY provider),
    count(*) FILTER (WHERE is_stale),
    (array_agg(slug ORDER BY since, slug) FILTER (WHERE is_stale))[1:%(most)s],
    count(*) FILTER (WHERE is_spent_out),
    (array_agg(slug ORDER BY slug) FILTER (WHERE is_spent_out))[1:%(most)s]
FROM (
    SELECT slug, provider, COALESCE(last_finished_at, created_at) AS since,
        enabled AND statement_timestamp() > COALESCE(last_finished_at, created_at) + 2 * ttl
            AS is_stale,
        enabled AND spent_out_on = (statement_timestamp() AT TIME ZONE 'UTC')::date
            AS is_spent_out
    FROM dashboard_endpoint
    WHERE removed_at IS NULL
        AND (%(teams)s::bigint[] IS NULL OR team_id = ANY(%(teams)s::bigint[]))) kept
"""

# Workers not seen for a day are deleted, so there are few rows.
_WORKERS = "SELECT name, started_at, seen_at, suite_version FROM dashboard_worker ORDER BY name"

_STORE = """
SELECT pg_database_size(current_database()),
    (SELECT statement_timestamp() - at FROM dashboard_observationbatch
        WHERE rolled_at IS NULL ORDER BY id LIMIT 1),
    (SELECT count(*) FROM (SELECT 1 FROM dashboard_observationbatch
        WHERE rolled_at IS NULL LIMIT %(most)s) batches),
    (SELECT count(*) FROM (SELECT 1 FROM dashboard_observation_overflow LIMIT %(most)s) strays)
"""

_TABLES = """
SELECT p.relname, count(*), min(c.relname), max(c.relname),
    COALESCE(sum(pg_total_relation_size(c.oid)), 0)
FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid JOIN pg_class c ON c.oid = i.inhrelid
WHERE p.relname = ANY(%(parents)s) AND pg_table_is_visible(p.oid) AND NOT i.inhdetachpending
GROUP BY 1
"""
