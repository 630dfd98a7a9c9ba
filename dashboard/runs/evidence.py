"""Reading stored evidence, and keeping what an incident or a decision rests on."""

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

# Far above what probes.exchange_evidence writes; a damaged row must not fill the memory.
MAX_SIZE = 16 * 1024 * 1024


def read(attempt: Attempt | Pin) -> dict[str, Any] | None:
    """The exchange behind an attempt, or None once its time is over and nobody pinned it."""
    row = attempt.evidence if isinstance(attempt, Pin) else _stored(attempt)
    if row is None:
        return None
    body = bytes(row.body)
    # Decompressing trusts this figure and makes room for it.
    if zstandard.frame_content_size(body) > MAX_SIZE:
        log.error("evidence too large to read", sha256=bytes(row.sha256).hex())
        return None
    exchange: dict[str, Any] = json.loads(zstandard.decompress(body))
    return exchange


@transaction.atomic
def pin(run: Run, *, why: str, passed: bool = False) -> int:
    """Keep the evidence of a run's attempts for good; returns how many were not pinned so before.

    Only attempts that did not pass, unless `passed` is set. What is gone by now stays gone.
    """
    values = {"run": run.pk, "run_at": run.created_at, "why": why, "passed": passed}
    execute(_COPY, values)
    # A statement of its own: it must see what somebody else has copied meanwhile.
    return execute(_PIN, values)


def _stored(attempt: Attempt) -> Evidence | PinnedEvidence | None:
    month = attempt.run_at.astimezone(UTC).date().replace(day=1)
    kept = Evidence.objects.filter(sha256=attempt.evidence_sha256, month=month).first()
    return kept or PinnedEvidence.objects.filter(sha256=attempt.evidence_sha256).first()


_COPY = """
INSERT INTO dashboard_pinnedevidence (sha256, body, size)
SELECT DISTINCT ON (e.sha256) e.sha256, e.body, e.size
FROM dashboard_attempt a JOIN dashboard_evidence e ON e.sha256 = a.evidence_sha256
    AND e.month = date_trunc('month', a.run_at AT TIME ZONE 'UTC')::date
WHERE a.run_id = %(run)s AND a.run_at = %(run_at)s AND (a.outcome <> 'pass' OR %(passed)s)
ORDER BY e.sha256
ON CONFLICT DO NOTHING
"""

_PIN = """
INSERT INTO dashboard_pin (run_id, probe, trial, run_at, sha256, why)
SELECT a.run_id, a.probe, a.trial, a.run_at, p.sha256, %(why)s
FROM dashboard_attempt a JOIN dashboard_pinnedevidence p ON p.sha256 = a.evidence_sha256
WHERE a.run_id = %(run)s AND a.run_at = %(run_at)s AND (a.outcome <> 'pass' OR %(passed)s)
ON CONFLICT DO NOTHING
"""
