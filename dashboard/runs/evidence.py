"""Reads stored evidence, and pins the evidence of incidents and decisions."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import structlog
import zstandard
from django.db import transaction

from dashboard.core.sql import execute
from dashboard.models import Attempt, Evidence, Pin, PinnedEvidence, Run

log = structlog.get_logger()

# Far above what probes.exchange_evidence writes; a damaged row must not exhaust memory.
MAX_SIZE = 16 * 1024 * 1024


def read_evidence(attempt: Attempt | Pin) -> dict[str, Any] | None:
    """The exchanges of an attempt; None if they expired and were not pinned."""
    row = attempt.evidence if isinstance(attempt, Pin) else _find_row(attempt)
    if row is None:
        return None
    body = bytes(row.body)
    # Decompression allocates this size before it reads the data.
    if zstandard.frame_content_size(body) > MAX_SIZE:
        log.error("evidence too large to read", sha256=bytes(row.sha256).hex())
        return None
    exchange: dict[str, Any] = json.loads(zstandard.decompress(body))
    return exchange


@transaction.atomic
def pin_evidence(run: Run, *, why: str, include_passed: bool = False) -> int:
    """Keep the evidence of a run's attempts forever; returns the number of new pins.

    Passing attempts are pinned only with `include_passed`. Expired evidence cannot be pinned.
    """
    values = {"run": run.pk, "run_at": run.created_at, "why": why, "passed": include_passed}
    execute(_COPY_TO_PINNED, values)
    # A separate statement, so that it sees rows that were copied concurrently.
    return execute(_INSERT_PINS, values)


def _find_row(attempt: Attempt) -> Evidence | PinnedEvidence | None:
    month = attempt.run_at.astimezone(UTC).date().replace(day=1)
    row = Evidence.objects.filter(sha256=attempt.evidence_sha256, month=month).first()
    return row or PinnedEvidence.objects.filter(sha256=attempt.evidence_sha256).first()


_COPY_TO_PINNED = """
INSERT INTO dashboard_pinnedevidence (sha256, body, size)
SELECT DISTINCT ON (e.sha256) e.sha256, e.body, e.size
FROM dashboard_attempt a JOIN dashboard_evidence e ON e.sha256 = a.evidence_sha256
    AND e.month = date_trunc('month', a.run_at AT TIME ZONE 'UTC')::date
WHERE a.run_id = %(run)s AND a.run_at = %(run_at)s AND (a.outcome <> 'pass' OR %(passed)s)
ORDER BY e.sha256
ON CONFLICT DO NOTHING
"""

_INSERT_PINS = """
INSERT INTO dashboard_pin (run_id, probe, trial, run_at, sha256, why)
SELECT a.run_id, a.probe, a.trial, a.run_at, p.sha256, %(why)s
FROM dashboard_attempt a JOIN dashboard_pinnedevidence p ON p.sha256 = a.evidence_sha256
WHERE a.run_id = %(run)s AND a.run_at = %(run_at)s AND (a.outcome <> 'pass' OR %(passed)s)
ON CONFLICT DO NOTHING
"""
