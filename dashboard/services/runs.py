"""The life of a run: queued, leased, running, ended. Only the database's clock counts.

Every statement is short, may be called by any number of processes at once, and moves the
endpoint's next_due_at whenever a run ends: a slot that is filled once would otherwise stay due
for ever and never be filled again. The clock is statement_timestamp(), as in Django's Now().
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models.functions import Now

from dashboard import enqueue
from dashboard.errors import LeaseLost, Refused
from dashboard.models import Attempt, Endpoint, Run
from dashboard.models.run import Trigger
from dashboard.services import credentials
from probes.errors import TargetError
from probes.suite import SUITE_VERSION, Trial, plan
from probes.target import Limits, Target

log = structlog.get_logger()

# Wait before the next run after one without a verdict: doubles, up to the endpoint's TTL.
FRUITLESS_WAIT = timedelta(minutes=15)
DUE_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a run, until it expires or is taken away."""

    run_id: int
    token: int
    slug: str


@dataclass(frozen=True, slots=True)
class Work:
    """What is left to do in a run."""

    target: Target
    trials: tuple[Trial, ...]
    seed: int


@transaction.atomic
def request(endpoint: Endpoint, *, by: User | None, suite: str = "light") -> Run:
    """Queue a run that a person asked for; where one is under way already, return that one."""
    # The lock makes the two looks below one: no run of this endpoint can end or begin between.
    endpoint = Endpoint.objects.select_for_update().get(pk=endpoint.pk)
    if active := endpoint.runs.active().first():
        return active
    run = Run.objects.create(
        endpoint=endpoint,
        profile=endpoint.profile,
        key_epoch=endpoint.profile.epoch,
        trigger=Trigger.MANUAL,
        due_at=Now(),
        suite=suite,
        suite_version=SUITE_VERSION,
        seed=random.SystemRandom().getrandbits(53),
        planned=len(plan(suite)),
        priority=1,
        dispatched_at=Now(),
        requested_by=by,
    )
    transaction.on_commit(lambda: _ring(run.pk))
    return run


def schedule_due() -> int:
    """Queue one run for every endpoint that is due and has none under way."""
    # A clock that was set back must not put an endpoint to sleep for longer than its TTL.
    _execute(_WAKE)
    full, light = len(plan("full")), len(plan("light"))
    return _execute(
        _SCHEDULE, {"version": SUITE_VERSION, "full": full, "light": light, "limit": DUE_AT_ONCE}
    )


def to_ring() -> list[int]:
    """The queued runs whose doorbell is to be rung now, each marked as rung."""
    return [row[0] for row in _all(_TO_RING, {"again": settings.RUN_RING_AGAIN})]


def claim(*, owner: str, run_id: int | None = None) -> Lease | None:
    """Take a queued run, the given one or the most urgent; None where there is none to be had."""
    row = _one(
        _CLAIM,
        {
            "owner": owner,
            "run": run_id,
            "lease": settings.RUN_LEASE,
            "versions": [SUITE_VERSION],
        },
    )
    return Lease(run_id=row[0], token=row[1], slug=row[2]) if row else None


def start(lease: Lease) -> Work | None:
    """Begin, or go on with, a claimed run; None where its endpoint cannot be probed at all."""
    if not _execute(_START, {"run": lease.run_id, "token": lease.token}):
        raise LeaseLost("The run was taken away before it began.")
    run = Run.objects.select_related("endpoint").get(pk=lease.run_id)
    try:
        target = _target(run.endpoint)
    except (TargetError, Refused) as exc:
        fail(lease, reason=str(exc))
        return None
    stored = set(Attempt.objects.of(run).values_list("probe", "trial"))
    left = tuple(trial for trial in plan(run.suite) if (trial.probe, trial.trial) not in stored)
    return Work(target, left, run.seed)


def renew(lease: Lease) -> None:
    """Keep the lease for another while."""
    if not _execute(
        _RENEW, {"run": lease.run_id, "token": lease.token, "lease": settings.RUN_LEASE}
    ):
        raise LeaseLost("The lease ran out or the run was cancelled.")


def fail(lease: Lease, *, reason: str) -> None:
    """End a run that cannot come to a verdict, and say why."""
    _end(
        "id = %(run)s AND lease_token = %(token)s",
        {"run": lease.run_id, "token": lease.token, "state": "failed", "reason": reason},
    )


def cancel(run: Run, *, by: User) -> bool:
    """Stop a run on a person's word; False where it had ended already."""
    reason = f"cancelled by {by.get_username()}"
    return bool(_end("id = %(run)s", {"run": run.pk, "state": "abandoned", "reason": reason}))


def abandon_active(endpoint: Endpoint, *, reason: str) -> None:
    """Take the run under way, if there is one, from whoever works on it."""
    _end(
        "endpoint_id = %(endpoint)s",
        {"endpoint": endpoint.pk, "state": "abandoned", "reason": reason},
    )


def reap() -> int:
    """Queue again what a dead worker held, and give up what has killed too many."""
    row = _one(_REAP, {"wait": settings.RUN_RETRY_AFTER, "fruitless_wait": FRUITLESS_WAIT})
    return row[0] if row else 0


def _ring(run_id: int) -> None:
    try:
        enqueue.ring([run_id])
    except enqueue.BrokerDown as exc:
        # The row is the obligation: a worker's own timer finds it.
        log.warning("doorbell not rung", run=run_id, error=str(exc))


def _target(endpoint: Endpoint) -> Target:
    idle = settings.PROBE_IDLE_TIMEOUT.total_seconds()
    total = settings.PROBE_TIMEOUT.total_seconds()
    limits = Limits(
        first_byte_s=min(idle, total),
        idle_s=min(idle, total),
        total_s=total,
        max_bytes=settings.PROBE_MAX_BYTES,
    )
    return Target(
        provider=endpoint.provider,  # type: ignore[arg-type]  # Target turns it into a Provider
        base_url=endpoint.base_url,
        model=endpoint.model,
        key=credentials.reveal(endpoint),
        options=endpoint.options,
        max_concurrency=endpoint.max_concurrency,
        limits=limits,
    )


def _end(which: str, values: Mapping[str, Any]) -> int:
    statement = _END.format(which=which)  # `which` is one of the literals above
    return _execute(statement, {**values, "fruitless_wait": FRUITLESS_WAIT})


def _execute(statement: str, values: Mapping[str, Any] | None = None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _all(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _one(statement: str, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
    rows = _all(statement, values)
    return rows[0] if rows else None


_WAKE = """
UPDATE dashboard_endpoint SET next_due_at = statement_timestamp() + ttl
WHERE next_due_at > statement_timestamp() + ttl * 1.5
"""

# next_due_at stays where it is until the run ends, so a lost run row leaves the endpoint due.
_SCHEDULE = """
WITH due AS (
    SELECT e.id, e.next_due_at, p.id AS profile_id, p.epoch,
        CASE WHEN p.epoch > 1 AND NOT EXISTS (
                SELECT 1 FROM dashboard_run r WHERE r.profile_id = p.id AND r.state = 'finished')
            THEN 'key_change' WHEN e.onboarding_left > 0 THEN 'baseline' ELSE 'ttl' END AS trigger
    FROM dashboard_endpoint e
    JOIN dashboard_profile p ON p.endpoint_id = e.id AND p.ended_at IS NULL
    WHERE e.enabled AND e.removed_at IS NULL AND e.next_due_at <= statement_timestamp()
        AND NOT EXISTS (SELECT 1 FROM dashboard_run r
            WHERE r.endpoint_id = e.id AND r.state IN ('queued', 'leased', 'running'))
    ORDER BY e.next_due_at LIMIT %(limit)s FOR UPDATE OF e SKIP LOCKED)
INSERT INTO dashboard_run (endpoint_id, profile_id, key_epoch, trigger, due_at, suite,
    suite_version, seed, planned)
SELECT id, profile_id, epoch, trigger, next_due_at,
    CASE trigger WHEN 'ttl' THEN 'light' ELSE 'full' END, %(version)s,
    floor(random() * 9007199254740992)::bigint,
    CASE trigger WHEN 'ttl' THEN %(light)s ELSE %(full)s END
FROM due ON CONFLICT DO NOTHING
"""

_TO_RING = """
UPDATE dashboard_run SET dispatched_at = statement_timestamp()
WHERE id IN (
    SELECT id FROM dashboard_run WHERE state = 'queued' AND not_before <= statement_timestamp()
        AND (dispatched_at IS NULL OR dispatched_at < statement_timestamp() - %(again)s)
    ORDER BY priority, not_before FOR UPDATE SKIP LOCKED)
RETURNING id
"""

_CLAIM = """
UPDATE dashboard_run SET state = 'leased', lease_owner = %(owner)s,
    lease_token = nextval('dashboard_fence'), claims = claims + 1,
    lease_expires_at = statement_timestamp() + %(lease)s
WHERE id = (
    SELECT id FROM dashboard_run WHERE state = 'queued' AND not_before <= statement_timestamp()
        AND suite_version = ANY(%(versions)s) AND (%(run)s::bigint IS NULL OR id = %(run)s)
    ORDER BY priority, not_before FOR UPDATE SKIP LOCKED LIMIT 1)
RETURNING id, lease_token, (SELECT slug FROM dashboard_endpoint e WHERE e.id = endpoint_id)
"""

_START = """
UPDATE dashboard_run SET state = 'running',
    started_at = COALESCE(started_at, statement_timestamp())
WHERE id = %(run)s AND lease_token = %(token)s AND state = 'leased'
    AND lease_expires_at > statement_timestamp()
"""

_RENEW = """
UPDATE dashboard_run SET lease_expires_at = statement_timestamp() + %(lease)s
WHERE id = %(run)s AND lease_token = %(token)s AND state IN ('leased', 'running')
    AND lease_expires_at > statement_timestamp()
"""

# Whoever ends a run locks its endpoint first: editing an endpoint locks in that order too.
_END = """
WITH mine AS MATERIALIZED (
    SELECT id FROM dashboard_endpoint
    WHERE id IN (SELECT endpoint_id FROM dashboard_run WHERE {which}) FOR UPDATE),
over AS (
    UPDATE dashboard_run SET state = %(state)s, reason = %(reason)s,
        finished_at = statement_timestamp(),
        lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL
    WHERE {which} AND endpoint_id IN (SELECT id FROM mine)
        AND state IN ('queued', 'leased', 'running') RETURNING endpoint_id)
UPDATE dashboard_endpoint SET fruitless = LEAST(fruitless + 1, 20),
    next_due_at = statement_timestamp()
        + LEAST(ttl, %(fruitless_wait)s * power(2, LEAST(fruitless, 20)))
WHERE id IN (SELECT endpoint_id FROM over)
"""

_REAP = """
WITH expired AS MATERIALIZED (
    SELECT r.id FROM dashboard_run r JOIN dashboard_endpoint e ON e.id = r.endpoint_id
    WHERE r.state IN ('leased', 'running') AND r.lease_expires_at < statement_timestamp()
    FOR UPDATE SKIP LOCKED),
dead AS (
    UPDATE dashboard_run SET
        state = CASE WHEN claims >= max_claims THEN 'abandoned' ELSE 'queued' END,
        finished_at = CASE WHEN claims >= max_claims THEN statement_timestamp() END,
        dispatched_at = NULL, lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL,
        not_before = statement_timestamp() + %(wait)s * power(2, claims - 1),
        reason = 'the worker stopped answering'
    WHERE id IN (SELECT id FROM expired) RETURNING endpoint_id, state),
gone AS (
    UPDATE dashboard_endpoint SET fruitless = LEAST(fruitless + 1, 20),
        next_due_at = statement_timestamp()
            + LEAST(ttl, %(fruitless_wait)s * power(2, LEAST(fruitless, 20)))
    WHERE id IN (SELECT endpoint_id FROM dead WHERE state = 'abandoned'))
SELECT count(*) FROM dead
"""
