"""The recurring duties of the scheduler: queue due runs, reap dead workers, choose wake-ups.

Celery beat and the timer of every worker call them; all are safe for concurrent callers.
"""

from __future__ import annotations

from django.conf import settings
from psycopg.types.json import Jsonb

from dashboard.core.sql import execute, fetch_row, fetch_rows
from dashboard.models.run import PRIORITIES
from dashboard.runs import services as runs
from dashboard.runs import workers
from dashboard.runs.run_sql import BACK_OFF, FRUITLESS, RELEASE, refund_reservations
from health.cadence import FRUITLESS_WAIT, FULL_SUITE
from probes.suite import SUITE_VERSION, plan_trials

DUE_BATCH_SIZE = 1000


def schedule_due() -> int:
    """Queue one run for every due endpoint without an active run; returns their number."""
    # After the clock was set back, no due time may be further ahead than its normal wait.
    execute(_CAP_DUE_TIMES)
    execute(_CAP_RUN_WAITS, {"longest": settings.RUN_RETRY_AFTER * 64, "lease": settings.RUN_LEASE})
    values = {
        "version": SUITE_VERSION,
        "full": len(plan_trials("full")),
        "light": len(plan_trials("light")),
        "full_suite": list(FULL_SUITE),
        "priorities": Jsonb(PRIORITIES),
        "limit": DUE_BATCH_SIZE,
    }
    queued = 0
    while count := execute(_SCHEDULE, values):
        queued += count
        if count < DUE_BATCH_SIZE:
            break
    return queued


def claim_wakeups(limit: int) -> list[int]:
    """Queued runs that need a wake-up message now, most urgent first; marks them as sent."""
    return [
        id_
        for (id_,) in fetch_rows(_CLAIM_WAKEUPS, {"again": settings.RUN_RING_AGAIN, "most": limit})
    ]


def has_overdue_run() -> bool:
    """Whether a run has waited so long that its wake-up message must be lost."""
    values = {"long": 2 * settings.RUN_RING_AGAIN, "versions": [SUITE_VERSION]}
    return fetch_row(_OVERDUE, values) is not None


def reap_expired_leases() -> int:
    """Requeue runs with an expired lease; abandon those that reached their maximum of claims."""
    values = {
        "wait": settings.RUN_RETRY_AFTER,
        "lease": settings.RUN_LEASE,
        "fruitless_wait": FRUITLESS_WAIT,
    }
    row = fetch_row(_REAP, values)
    return int(row[0]) if row else 0


def retire_unserved_runs() -> int:
    """Abandon queued runs of a suite version that no live worker has; their endpoints are due."""
    served = sorted({SUITE_VERSION, *workers.read_suite_versions()})
    return runs.end_runs(
        "state = 'queued' AND suite_version <> ALL(%(served)s)"
        " AND created_at < statement_timestamp() - %(grace)s",
        {
            "served": served,
            "grace": settings.RUN_LEASE,
            "state": "abandoned",
            "reason": "superseded: no worker has this version of the suite any more",
        },
        due="now",
    )


_CAP_DUE_TIMES = """
UPDATE dashboard_endpoint SET next_due_at = statement_timestamp() + ttl
WHERE next_due_at > statement_timestamp() + ttl * 1.5
    AND spent_out_on IS DISTINCT FROM (statement_timestamp() AT TIME ZONE 'UTC')::date
"""

_CAP_RUN_WAITS = """
UPDATE dashboard_run SET not_before = statement_timestamp(), dispatched_at = NULL
WHERE state = 'queued' AND not_before > statement_timestamp() + %(longest)s + %(lease)s
"""

# next_due_at does not change until the run ends, so a lost run row leaves the endpoint due.
# OFFSET 0 makes Postgres look each endpoint up by run_one_active; with outdated statistics it would
# otherwise compare every due endpoint with every queued run.
_SCHEDULE = """
WITH due AS (
    SELECT e.id, e.next_due_at, e.next_trigger AS trigger, p.id AS profile_id, p.epoch, p.provider,
        e.next_trigger = ANY(%(full_suite)s) OR p.verified_at IS NULL AS is_full
    FROM dashboard_endpoint e
    JOIN dashboard_profile p ON p.endpoint_id = e.id AND p.ended_at IS NULL
    WHERE e.enabled AND e.removed_at IS NULL AND e.next_due_at <= statement_timestamp()
        AND NOT EXISTS (SELECT 1 FROM dashboard_run r
            WHERE r.endpoint_id = e.id AND r.finished_at IS NULL OFFSET 0)
    ORDER BY e.next_due_at LIMIT %(limit)s FOR UPDATE OF e SKIP LOCKED)
INSERT INTO dashboard_run (endpoint_id, profile_id, provider, key_epoch, trigger, due_at, priority,
    suite, suite_version, seed, planned)
SELECT id, profile_id, provider, epoch, trigger, next_due_at,
    COALESCE((%(priorities)s ->> trigger)::int, 5), CASE WHEN is_full THEN 'full' ELSE 'light' END,
    %(version)s, floor(random() * 9007199254740992)::bigint,
    CASE WHEN is_full THEN %(full)s ELSE %(light)s END
FROM due ON CONFLICT DO NOTHING
"""

_CLAIM_WAKEUPS = """
UPDATE dashboard_run SET dispatched_at = statement_timestamp()
WHERE id IN (
    SELECT id FROM dashboard_run WHERE state = 'queued' AND not_before <= statement_timestamp()
        AND (dispatched_at IS NULL OR dispatched_at < statement_timestamp() - %(again)s
            OR dispatched_at > statement_timestamp() + %(again)s)
    ORDER BY priority, not_before LIMIT %(most)s FOR UPDATE SKIP LOCKED)
RETURNING id
"""

_OVERDUE = """
SELECT 1 FROM dashboard_run WHERE state = 'queued' AND suite_version = ANY(%(versions)s)
    AND not_before < statement_timestamp() - %(long)s LIMIT 1
"""

# A lease that ends far in the future dates from before the clock was set back.
_REAP = f"""
WITH expired AS MATERIALIZED (
    SELECT r.id, r.endpoint_id, r.reserved_on, r.reserved_requests, r.reserved_tokens
    FROM dashboard_run r JOIN dashboard_endpoint e ON e.id = r.endpoint_id
    WHERE r.state IN ('leased', 'running') AND (r.lease_expires_at < statement_timestamp()
        OR r.lease_expires_at > statement_timestamp() + %(lease)s * 3)
    FOR UPDATE SKIP LOCKED),
dead AS (
    UPDATE dashboard_run SET
        state = CASE WHEN claims >= max_claims THEN 'abandoned' ELSE 'queued' END,
        finished_at = CASE WHEN claims >= max_claims THEN statement_timestamp() END,
        dispatched_at = NULL, {RELEASE},
        not_before = statement_timestamp() + %(wait)s * power(2, claims - 1),
        reason = 'the worker stopped answering'
    WHERE id IN (SELECT id FROM expired) RETURNING endpoint_id, state),
given_back AS ({refund_reservations("expired")}),
gone AS (
    UPDATE dashboard_endpoint SET fruitless = {FRUITLESS},
        next_due_at = statement_timestamp() + {BACK_OFF}
    WHERE id IN (SELECT endpoint_id FROM dead WHERE state = 'abandoned'))
SELECT count(*) FROM dead
"""  # noqa: S608 -- statements of our own
