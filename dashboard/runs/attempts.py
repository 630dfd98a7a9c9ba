"""Stores attempts as they arrive, each with its evidence; only the lease holder may write."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date
from typing import Any

import zstandard
from django.conf import settings
from django.db import IntegrityError, connection
from psycopg.types.json import Jsonb

from dashboard import models
from dashboard.core import partitions
from dashboard.core.errors import LeaseLost
from dashboard.models import Run
from dashboard.runs.services import Lease
from probes.messages import Usage
from probes.outcomes import Attempt, Evidence, Finding, FindingKind, Metric, Outcome, Verdict
from probes.suite import Trial
from probes.suite.sampling import estimate_price


def record_attempt(lease: Lease, attempt: Attempt) -> None:
    """Store one attempt with its evidence and renew the lease, in one fenced statement.

    Raises LeaseLost without writing if the caller no longer holds the lease.
    """
    values = {**_lease_values(lease), **row_values(attempt), **_cost_values(attempt)}
    try:
        was_recorded = _execute_record(values)
    except IntegrityError as exc:
        if "no partition" not in str(exc):
            raise
        # The run was created in a month that has no partition.
        partitions.ensure_months([_created_on(lease)])
        was_recorded = _execute_record(values)
    if not was_recorded:
        raise LeaseLost("The lease ran out or the run was cancelled.")


def row_values(attempt: Attempt) -> dict[str, Any]:
    """The column values of an attempt and its evidence."""
    evidence = json.dumps(attempt.evidence.as_json(), separators=(",", ":")).encode()
    return {
        "probe": attempt.probe,
        "trial": attempt.trial,
        "outcome": attempt.outcome.value,
        "findings": Jsonb(_sanitize_json([finding.as_json() for finding in attempt.findings])),
        "verdicts": Jsonb([_verdict_row(verdict) for verdict in attempt.verdicts]),
        "facts": Jsonb(_sanitize_json(dict(attempt.facts))),
        "requests": attempt.evidence.requests,
        "retried": Jsonb(dict(attempt.retried)),
        "status": attempt.http_status,
        "latency": attempt.latency_ms,
        "first_byte": attempt.first_byte_ms,
        "input": attempt.usage.input_tokens,
        "output": attempt.usage.output_tokens,
        "fingerprint": Jsonb(_sanitize_json(dict(attempt.fingerprint))),
        "sha256": hashlib.sha256(evidence).digest(),
        "body": zstandard.compress(evidence),
        "size": len(evidence),
        "started_at": attempt.started_at,
    }


def attempt_from_row(row: models.Attempt) -> Attempt:
    """The attempt as a value of `probes`, without its evidence."""
    return Attempt(
        probe=row.probe,
        trial=row.trial,
        outcome=Outcome(row.outcome),
        findings=tuple(
            Finding(FindingKind(finding["kind"]), finding["message"], finding.get("path", ""))
            for finding in row.findings
        ),
        verdicts=tuple(
            Verdict(Metric(metric), good, *parser) for metric, good, *parser in row.verdicts
        ),
        evidence=Evidence(),
        started_at=row.started_at,
        http_status=row.http_status,
        latency_ms=row.latency_ms,
        first_byte_ms=row.first_byte_ms,
        usage=Usage(input_tokens=row.input_tokens, output_tokens=row.output_tokens),
        fingerprint=row.fingerprint,
        facts=row.facts,
        retried=row.retried,
    )


def _execute_record(values: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_RECORD, values)
        return cursor.fetchone() is not None


def _created_on(lease: Lease) -> date:
    moment = Run.objects.values_list("created_at", flat=True).get(pk=lease.run_id)
    return moment.astimezone(UTC).date()


def _lease_values(lease: Lease) -> dict[str, Any]:
    return {"run": lease.run_id, "token": lease.token, "lease": settings.RUN_LEASE}


def _cost_values(attempt: Attempt) -> dict[str, int]:
    """The reserved and the spent cost; a reply without usage costs what was reserved."""
    reserved = estimate_price([Trial(attempt.probe, attempt.trial)])
    token_counts = (attempt.usage.input_tokens, attempt.usage.output_tokens)
    spent = sum(count or 0 for count in token_counts) if any(token_counts) else None
    if spent is None and attempt.outcome is not Outcome.VOID:
        spent = reserved.tokens
    return {
        "price_requests": reserved.requests,
        "price_tokens": reserved.tokens,
        "spent_tokens": spent or 0,
    }


def _verdict_row(verdict: Verdict) -> list[str | bool]:
    row: list[str | bool] = [verdict.metric.value, verdict.good]
    return [*row, verdict.parser] if verdict.parser else row


def _sanitize_json(value: Any) -> Any:
    """JSON that Postgres accepts: NUL and lone surrogates are replaced."""
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_sanitize_json(key): _sanitize_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_sanitize_json(item) for item in value]
    return value


# Fence, evidence, attempt, progress and budget in one statement: a worker that lost its lease
# writes nothing, and a trial that is already stored changes nothing.
_RECORD = """
WITH me AS MATERIALIZED (
    SELECT id, endpoint_id, created_at, reserved_on FROM dashboard_run
    WHERE id = %(run)s AND lease_token = %(token)s AND state = 'running'
        AND lease_expires_at > statement_timestamp() FOR UPDATE),
kept AS (
    INSERT INTO dashboard_evidence (sha256, month, body, size, created_at)
    SELECT %(sha256)s, date_trunc('month', created_at AT TIME ZONE 'UTC')::date, %(body)s,
        %(size)s, statement_timestamp()
    FROM me ON CONFLICT DO NOTHING),
stored AS (
    INSERT INTO dashboard_attempt (run_id, probe, trial, run_at, token, outcome, findings, verdicts,
        facts, requests, retried, http_status, latency_ms, first_byte_ms, input_tokens,
        output_tokens, fingerprint, evidence_sha256, started_at, created_at)
    SELECT id, %(probe)s, %(trial)s, created_at, %(token)s, %(outcome)s, %(findings)s, %(verdicts)s,
        %(facts)s, %(requests)s, %(retried)s, %(status)s, %(latency)s, %(first_byte)s, %(input)s,
        %(output)s,
        %(fingerprint)s, %(sha256)s, %(started_at)s, statement_timestamp()
    FROM me ON CONFLICT DO NOTHING RETURNING 1),
paid AS (
    UPDATE dashboard_spend s SET requests = s.requests - %(price_requests)s + %(requests)s,
        tokens = s.tokens - %(price_tokens)s + %(spent_tokens)s
    FROM me, stored WHERE s.endpoint_id = me.endpoint_id AND s.day = me.reserved_on)
UPDATE dashboard_run r SET lease_expires_at = statement_timestamp() + %(lease)s,
    done = r.done + (SELECT count(*) FROM stored),
    reserved_requests = r.reserved_requests - %(price_requests)s * (SELECT count(*) FROM stored),
    reserved_tokens = r.reserved_tokens - %(price_tokens)s * (SELECT count(*) FROM stored)
FROM me WHERE r.id = me.id RETURNING r.id
"""
