"""Drops expired data by whole partitions."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.conf import settings
from django.db import OperationalError, ProgrammingError

from dashboard.api import services as idempotency
from dashboard.core import partitions
from dashboard.core.partitions import Attachment, Partition
from dashboard.core.sql import execute, fetch_row

log = structlog.get_logger()

# The API refuses older events, so that a batch of this age cannot arrive again.
LATE_DAYS = 7
# Partitions per table and run. Usually one per day expires; the limit keeps a clock that jumped
# ahead from deleting everything.
MAX_DROPS = 3


def drop_expired_partitions() -> list[str]:
    """Drop the partitions beyond their limit, the oldest first, and return their names.

    Call it outside of a transaction and not in a request: it waits for transactions that read
    such a partition. Concurrent calls are safe.
    """
    dropped = [part.name for part in _expired_partitions() if _drop_partition(part)]
    execute(_DELETE_OLD_BATCHES, {"kept": timedelta(days=settings.KEEP_RAW_DAYS + LATE_DAYS)})
    idempotency.delete_expired_answers()
    return dropped


def retention_limits() -> dict[str, int]:
    return {
        "dashboard_observation": settings.KEEP_RAW_DAYS,
        "dashboard_attempt": settings.KEEP_ATTEMPTS_DAYS,
        "dashboard_evidence": settings.KEEP_EVIDENCE_DAYS,
        "dashboard_rollup5m": settings.KEEP_5M_DAYS,
        "dashboard_rolluphour": settings.KEEP_HOURS_DAYS,
    }


def _expired_partitions() -> list[Partition]:
    return [
        part
        for parent, days in retention_limits().items()
        for part in _expired_partitions_of(parent, days)
    ]


def _expired_partitions_of(parent: str, days: int) -> list[Partition]:
    limit = partitions.database_today() - timedelta(days=days)
    expired = [part for part in partitions.existing_partitions(parent) if part.end <= limit]
    return [part for part in expired if not _has_pending_rollups(part)][:MAX_DROPS]


def _has_pending_rollups(part: Partition) -> bool:
    """Some of its rows are not rolled up yet."""
    if part.parent not in partitions.DAILY:
        return False
    start, end = part.moments
    return fetch_row(_PENDING_BATCH, {"start": start, "end": end}) is not None


def _drop_partition(part: Partition) -> bool:
    """Detach it concurrently, which does not block readers and writers, then drop it."""
    try:
        attachment = partitions.existing_partitions(part.parent).get(part)
        if attachment is Attachment.ATTACHED:
            execute(f"ALTER TABLE {part.parent} DETACH PARTITION {part.name} CONCURRENTLY")
        elif attachment is Attachment.LEAVING:
            partitions.finish_detaching(part)
        execute(f"DROP TABLE IF EXISTS {part.name}")
    except (OperationalError, ProgrammingError) as exc:
        # Usually another worker drops it; otherwise the next run tries again.
        log.warning("partition not dropped", partition=part.name, error=str(exc))
        return False
    return True


_PENDING_BATCH = """
SELECT 1 FROM dashboard_observationbatch
WHERE rolled_at IS NULL AND at >= %(start)s AND at < %(end)s LIMIT 1
"""

_DELETE_OLD_BATCHES = """
DELETE FROM dashboard_observationbatch
WHERE rolled_at IS NOT NULL AND at < statement_timestamp() - %(kept)s
"""
