"""Reading stored evidence."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import zstandard

from dashboard.models import Attempt, Evidence

# Far above what probes.evidence writes; a damaged row must not fill the memory.
MAX_SIZE = 16 * 1024 * 1024


def read(attempt: Attempt) -> dict[str, Any] | None:
    """The exchange behind an attempt, or None once its time is over."""
    month = attempt.run_at.astimezone(UTC).date().replace(day=1)
    row = Evidence.objects.filter(sha256=attempt.evidence_sha256, month=month).first()
    if row is None:
        return None
    body = zstandard.decompress(bytes(row.body), max_output_size=MAX_SIZE)
    exchange: dict[str, Any] = json.loads(body)
    return exchange
