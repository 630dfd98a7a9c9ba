"""Letting go of what is old: whole partitions, never row by row."""

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

# The API refuses events that are older, so a batch this much older cannot come a second time.
LATE_DAYS = 7
# Of one table in one turn. A table loses one a day; a clock that jumped ahead would else take
# everything before anybody sees it.
MAX_AT_ONCE = 3


def drop_expired_partitions() -> list[str]:
    """Drop partitions that ended before their limit, the oldest first, and return their names.

    Not inside a transaction. Waits for transactions that still read such a partition, so it is to
    be called where nobody waits for the answer. Several at once do no harm.
    """
    dropped = [part.name for part in _expired_partitions() if _drop_partition(part)]
    execute(_FORGET, {"kept": timedelta(days=settings.KEEP_RAW_DAYS + LATE_DAYS)})
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
    over = [part for part in partitions.existing_partitions(parent) if part.end <= limit]
    return [part for part in over if not _has_pending_rollups(part)][:MAX_AT_ONCE]


def _has_pending_rollups(part: Partition) -> bool:
    """Whether rows of it are not in the rollups yet."""
    if part.parent not in partitions.DAILY:
        return False
    start, end = part.moments
    return fetch_row(_WAITING, {"start": start, "end": end}) is not None


def _drop_partition(part: Partition) -> bool:
    """Detach first, which lets others go on reading and writing, then drop what hangs loose."""
    try:
        tie = partitions.existing_partitions(part.parent).get(part)
        if tie is Attachment.ATTACHED:
            execute(f"ALTER TABLE {part.parent} DETACH PARTITION {part.name} CONCURRENTLY")
        elif tie is Attachment.LEAVING:
            partitions.finish_detaching(part)
        execute(f"DROP TABLE IF EXISTS {part.name}")
    except (OperationalError, ProgrammingError) as exc:
        # Most likely somebody else is at it; else the next time finds it as it is now.
        log.warning("partition not dropped", partition=part.name, error=str(exc))
        return False
    return True


_WAITING = """
SELECT 1 FROM dashboard_observationbatch
WHERE rolled_at IS NULL AND at >= %(start)s AND at < %(end)s LIMIT 1
"""

_FORGET = """
DELETE FROM dashboard_observationbatch
WHERE rolled_at IS NOT NULL AND at < statement_timestamp() - %(kept)s
"""
