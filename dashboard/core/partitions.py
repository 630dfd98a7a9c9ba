"""Partitions, created ahead: months of attempts, evidence and rollups, days of observations.

Observations whose day had no partition are in the overflow table, and are moved from there here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from django.db import connection, transaction

from dashboard.models.observation import COLUMNS

ROLLUPS = ("dashboard_rollup5m", "dashboard_rolluphour")
MONTHLY = ("dashboard_attempt", "dashboard_evidence", *ROLLUPS)
DAILY = ("dashboard_observation",)
MONTHS_AHEAD, DAYS_AHEAD = 1, 7
DRAIN_BATCH = 100_000
_LOCK = 0x700160A6E  # any constant of our own

# The newest buckets are updated in place; older pages must soon be all-visible, or a chart's
# index-only scan reads the table after all.
_STORAGE = {
    "dashboard_rollup5m": "WITH (fillfactor = 70)",
    "dashboard_rolluphour": (
        "WITH (fillfactor = 70, autovacuum_vacuum_insert_scale_factor = 0.02)"
    ),
}


class Attachment(StrEnum):
    """Whether a partition's table is attached to its parent."""

    ATTACHED = "attached"
    LEAVING = "leaving"  # a detach was interrupted
    LOOSE = "loose"  # detached, and not yet dropped


@dataclass(frozen=True, slots=True)
class Partition:
    parent: str
    start: date
    end: date

    @property
    def name(self) -> str:
        days = (self.end - self.start).days
        return (
            f"{self.parent}_{self.start:%Y%m}" if days > 1 else f"{self.parent}_{self.start:%Y%m%d}"
        )

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """The first moment of the partition, and the first after it."""
        start, end = (datetime(d.year, d.month, d.day, tzinfo=UTC) for d in (self.start, self.end))
        return start, end


def ensure_partitions() -> list[str]:
    """Create missing partitions and return their names; then drain a batch of the overflow."""
    days = _overflow_days()
    created = _create_missing(list(_upcoming_partitions(database_today())))
    if days:
        created += ensure_days(days)
        _drain_overflow(days)
    return created


def ensure_months(months: Iterable[date], *, parents: Iterable[str] = MONTHLY) -> list[str]:
    """Create the partitions of the months of these dates, for rows that come late."""
    return _create_missing(
        [_month_partition(parent, month) for month in sorted(set(months)) for parent in parents]
    )


def ensure_days(days: Iterable[date]) -> list[str]:
    """Create the partitions of these days, for raw rows of the past."""
    return _create_missing(
        [_day_partition(parent, day) for day in sorted(set(days)) for parent in DAILY]
    )


def missing_partitions() -> list[str]:
    """The names of partitions that should exist by now and do not."""
    return [part.name for part in _without_attached(list(_upcoming_partitions(database_today())))]


def existing_partitions(parent: str) -> dict[Partition, Attachment]:
    """The partitions of a table, oldest first, including half-detached ones."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTING, {"names": f"^{parent}_[0-9]{{6}}([0-9]{{2}})?$"})
        attachments = {
            parse_partition_name(parent, name): Attachment(tie) for name, tie in cursor.fetchall()
        }
    return {part: attachments[part] for part in sorted(attachments, key=lambda part: part.start)}


def database_today() -> date:
    """The day by the database's clock, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date")
        (day,) = cursor.fetchone()
    assert isinstance(day, date)
    return day


def _upcoming_partitions(day: date) -> Iterator[Partition]:
    month = day
    for _ in range(MONTHS_AHEAD + 1):
        parts = [_month_partition(parent, month) for parent in MONTHLY]
        yield from parts
        month = parts[0].end
    for days in range(-1, DAYS_AHEAD + 1):
        yield from (_day_partition(parent, day + timedelta(days=days)) for parent in DAILY)


def _month_partition(parent: str, day: date) -> Partition:
    start = day.replace(day=1)
    return Partition(parent, start, (start + timedelta(days=32)).replace(day=1))


def _day_partition(parent: str, day: date) -> Partition:
    return Partition(parent, day, day + timedelta(days=1))


def parse_partition_name(parent: str, name: str) -> Partition:
    """The partition of that name; its digits are the month or day it covers."""
    digits = re.sub(r".*_", "", name)
    if len(digits) == 8:
        return _day_partition(parent, date.fromisoformat(digits))
    return _month_partition(parent, date.fromisoformat(f"{digits}01"))


def _create_missing(partitions: list[Partition]) -> list[str]:
    if not _without_attached(partitions):
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        # Without the lock two callers would both find the table missing, and one would fail.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        missing = _without_attached(partitions)
        for part in missing:
            _attach(part)
    return [part.name for part in missing]


def _attach(part: Partition) -> None:
    """Create and attach: PARTITION OF would lock the parent."""
    with connection.cursor() as cursor:
        if existing_partitions(part.parent).get(part) is Attachment.LEAVING:
            finish_detaching(part)
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {part.name} (LIKE {part.parent} INCLUDING ALL) "
            f"{_STORAGE.get(part.parent, '')}"
        )
        cursor.execute(
            f"ALTER TABLE {part.parent} ATTACH PARTITION {part.name} "
            f"FOR VALUES FROM ('{part.start} 00:00+00') TO ('{part.end} 00:00+00')"
        )


def finish_detaching(part: Partition) -> None:
    """Finish an interrupted detach."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {part.parent} DETACH PARTITION {part.name} FINALIZE")


def _without_attached(partitions: list[Partition]) -> list[Partition]:
    with connection.cursor() as cursor:
        cursor.execute(_ATTACHED, [[part.name for part in partitions]])
        attached = {name for (name,) in cursor.fetchall()}
    return [part for part in dict.fromkeys(partitions) if part.name not in attached]


def _overflow_days() -> list[date]:
    with connection.cursor() as cursor:
        cursor.execute(_OVERFLOW_DAYS)
        return [day for (day,) in cursor.fetchall()]


@transaction.atomic
def _drain_overflow(days: list[date]) -> None:
    """Move a batch of rows of these days into their partitions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        cursor.execute(_DRAIN, {"days": days, "most": DRAIN_BATCH})


_OVERFLOW_DAYS = """
SELECT DISTINCT (at AT TIME ZONE 'UTC')::date FROM dashboard_observation_overflow
"""

_ATTACHED = """
SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relname = ANY(%s) AND pg_table_is_visible(c.oid) AND NOT i.inhdetachpending
"""

_EXISTING = """
SELECT c.relname, CASE WHEN i.inhrelid IS NULL THEN 'loose'
    WHEN i.inhdetachpending THEN 'leaving' ELSE 'attached' END
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
WHERE c.relkind = 'r' AND c.relname ~ %(names)s AND pg_table_is_visible(c.oid)
"""

_COLUMNS = ", ".join(COLUMNS)
_DRAIN = f"""
WITH moved AS (
    DELETE FROM dashboard_observation_overflow WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM dashboard_observation_overflow
        WHERE (at AT TIME ZONE 'UTC')::date = ANY(%(days)s) LIMIT %(most)s))
    RETURNING {_COLUMNS})
INSERT INTO dashboard_observation ({_COLUMNS}) SELECT {_COLUMNS} FROM moved
"""  # noqa: S608 -- names of our own
