"""What a run found: attempts as they come, then everything that follows from them, once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

import structlog
import zstandard
from django.conf import settings
from django.db import connection, transaction
from psycopg.types.json import Jsonb

from dashboard import models
from dashboard.errors import LeaseLost
from dashboard.models import Run
from dashboard.services.runs import FRUITLESS_WAIT, Lease
from health.observations import pack
from probes.attempts import Attempt, Metric, Verdict

log = structlog.get_logger()

LANE_PROBE = 0


def record(lease: Lease, attempt: Attempt) -> None:
    """Store one attempt with its evidence and renew the lease, in one fenced statement."""
    evidence = json.dumps(attempt.evidence.as_json(), separators=(",", ":")).encode()
    values: dict[str, Any] = {
        "run": lease.run_id,
        "token": lease.token,
        "lease": settings.RUN_LEASE,
        "probe": attempt.probe,
        "trial": attempt.trial,
        "outcome": attempt.outcome.value,
        "findings": Jsonb(_storable([finding.as_json() for finding in attempt.findings])),
        "verdicts": Jsonb([[v.metric.value, v.good] for v in attempt.verdicts]),
        "status": attempt.http_status,
        "latency": attempt.latency_ms,
        "first_byte": attempt.first_byte_ms,
        "input": attempt.usage.input_tokens,
        "output": attempt.usage.output_tokens,
        "fingerprint": Jsonb(_storable(dict(attempt.fingerprint))),
        "sha256": hashlib.sha256(evidence).digest(),
        "body": zstandard.compress(evidence),
        "size": len(evidence),
        "started_at": attempt.started_at,
    }
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, values)
        if not cursor.fetchone():
            raise LeaseLost("The lease ran out or the run was cancelled.")


@transaction.atomic
def finish(lease: Lease) -> None:
    """End the run and write all that follows from it. All or nothing, and only once."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, {"run": lease.run_id})
        cursor.execute(_FINISH, {"run": lease.run_id, "token": lease.token})
        if not cursor.rowcount:
            raise LeaseLost("The run was taken away before it could be finished.")
        run = Run.objects.get(pk=lease.run_id)
        cursor.execute(_ROLL_UP, {"run": run.pk})
        # A list: while COPY runs, its connection can answer no query.
        _copy(cursor, list(_observations(run)))
        endpoint: dict[str, Any] = {"endpoint": run.endpoint_id, "at": run.finished_at}
        endpoint["wait"] = FRUITLESS_WAIT
        cursor.execute(_ENDPOINT[run.state], endpoint)
        cursor.execute(_FINGERPRINT, {"run": run.pk, "profile": run.profile_id})
    log.info("run ended", state=run.state, passed=run.passed, failed=run.failed, void=run.void)


def _observations(run: Run) -> Iterator[tuple[Any, ...]]:
    where = (run.finished_at, run.profile_id, run.key_epoch, LANE_PROBE, run.pk)
    for row in models.Attempt.objects.of(run).order_by("probe", "trial"):
        facts = (row.latency_ms, row.first_byte_ms, row.input_tokens, row.output_tokens)
        for packed in pack(Verdict(Metric(metric), good) for metric, good in row.verdicts):
            yield (*where, packed, row.started_at, *facts, row.http_status)
            # Facts of the attempt count once, however many rows its trials need.
            facts = (None, None, None, None)


def _copy(cursor: Any, rows: Iterable[tuple[Any, ...]]) -> None:
    with cursor.copy(_COPY) as copy:
        for row in rows:
            copy.write_row(row)


def _storable(value: Any) -> Any:
    """JSON values that Postgres takes: NUL and lone surrogates become the replacement mark."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(item) for item in value]
    return value


_RECORD = """
WITH me AS (
    UPDATE dashboard_run SET lease_expires_at = statement_timestamp() + %(lease)s
    WHERE id = %(run)s AND lease_token = %(token)s AND state = 'running'
        AND lease_expires_at > statement_timestamp()
    RETURNING id, created_at),
kept AS (
    INSERT INTO dashboard_evidence (sha256, month, body, size, created_at)
    SELECT %(sha256)s, date_trunc('month', created_at AT TIME ZONE 'UTC')::date, %(body)s,
        %(size)s, statement_timestamp()
    FROM me ON CONFLICT DO NOTHING),
stored AS (
    INSERT INTO dashboard_attempt (run_id, probe, trial, run_at, token, outcome, findings, verdicts,
        http_status, latency_ms, first_byte_ms, input_tokens, output_tokens, fingerprint,
        evidence_sha256, started_at, created_at)
    SELECT id, %(probe)s, %(trial)s, created_at, %(token)s, %(outcome)s, %(findings)s, %(verdicts)s,
        %(status)s, %(latency)s, %(first_byte)s, %(input)s, %(output)s, %(fingerprint)s,
        %(sha256)s, %(started_at)s, statement_timestamp()
    FROM me ON CONFLICT DO NOTHING)
SELECT id FROM me
"""

# The endpoint before the run, in the order that editing an endpoint locks them.
_LOCK = """
SELECT 1 FROM dashboard_endpoint
WHERE id = (SELECT endpoint_id FROM dashboard_run WHERE id = %(run)s) FOR UPDATE
"""

# Nothing but void came back: there is no verdict, and the first finding says why.
_FINISH = """
WITH counted AS (
    SELECT count(*) FILTER (WHERE a.outcome = 'pass') AS passed,
        count(*) FILTER (WHERE a.outcome = 'fail') AS failed,
        count(*) FILTER (WHERE a.outcome = 'void') AS void,
        COALESCE(sum(a.input_tokens), 0) AS input, COALESCE(sum(a.output_tokens), 0) AS output,
        COALESCE((array_agg(a.findings -> 0 ->> 'message' ORDER BY a.trial)
            FILTER (WHERE a.outcome = 'void'))[1], '') AS why
    FROM dashboard_run r JOIN dashboard_attempt a ON a.run_id = r.id AND a.run_at = r.created_at
    WHERE r.id = %(run)s)
UPDATE dashboard_run r SET finished_at = statement_timestamp(),
    state = CASE WHEN c.passed + c.failed > 0 THEN 'finished' ELSE 'failed' END,
    reason = CASE WHEN c.passed + c.failed > 0 THEN '' ELSE 'No verdict. ' || c.why END,
    passed = c.passed, failed = c.failed, void = c.void,
    input_tokens = c.input, output_tokens = c.output,
    lease_owner = NULL, lease_token = NULL, lease_expires_at = NULL
FROM counted c WHERE r.id = %(run)s AND r.lease_token = %(token)s AND r.state = 'running'
"""

_ROLL_UP = """
INSERT INTO dashboard_runmetric (run_id, metric, profile_id, trials, failures, finished_at)
SELECT r.id, v ->> 0, r.profile_id, count(*), count(*) FILTER (WHERE NOT (v ->> 1)::boolean),
    r.finished_at
FROM dashboard_run r JOIN dashboard_attempt a ON a.run_id = r.id AND a.run_at = r.created_at,
    jsonb_array_elements(a.verdicts) v
WHERE r.id = %(run)s GROUP BY r.id, v ->> 0
"""

_COPY = """
COPY dashboard_observation (at, profile_id, key_epoch, lane, run_id, verdicts,
    event_at, latency_ms, first_byte_ms, input_tokens, output_tokens, http_status) FROM STDIN
"""

# Next: at once while a baseline is wanted, else after the TTL, spread so that no fleet marches.
_ENDPOINT = {
    "finished": """
UPDATE dashboard_endpoint SET last_finished_at = %(at)s, fruitless = 0,
    next_due_at = CASE WHEN onboarding_left > 1 THEN %(at)s
        ELSE %(at)s + ttl * (0.9 + 0.2 * random()) END,
    onboarding_left = GREATEST(onboarding_left - 1, 0)
WHERE id = %(endpoint)s
""",
    "failed": """
UPDATE dashboard_endpoint SET fruitless = LEAST(fruitless + 1, 20),
    next_due_at = %(at)s + LEAST(ttl, %(wait)s * power(2, LEAST(fruitless, 20)))
WHERE id = %(endpoint)s
""",
}

_FINGERPRINT = """
UPDATE dashboard_profile p SET fingerprint = a.fingerprint
FROM dashboard_run r JOIN dashboard_attempt a ON a.run_id = r.id AND a.run_at = r.created_at
WHERE r.id = %(run)s AND p.id = %(profile)s AND a.fingerprint <> '{}'
"""
