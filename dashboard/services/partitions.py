"""Partitions made ahead of time: months of attempts and evidence, days of observations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from django.db import connection, transaction

MONTHLY = ("dashboard_attempt", "dashboard_evidence")
DAILY = ("dashboard_observation",)
MONTHS_AHEAD, DAYS_AHEAD = 1, 7
_LOCK = 0x700160A6E  # any constant of our own


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


def ensure() -> list[str]:
    """Create what is missing and return the names; costs one look-up when nothing is."""
    wanted = list(_wanted(_today()))
    missing = _missing(wanted)
    if not missing:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        # Two callers at once would both find the table missing and one would fail.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        missing = _missing(wanted)
        for part in missing:
            cursor.execute(
                f"CREATE TABLE {part.name} PARTITION OF {part.parent} "
                f"FOR VALUES FROM ('{part.start}') TO ('{part.end}')"
            )
    return [part.name for part in missing]


def _wanted(today: date) -> Iterator[Partition]:
    month = today.replace(day=1)
    for _ in range(MONTHS_AHEAD + 1):
        following = (month + timedelta(days=32)).replace(day=1)
        yield from (Partition(parent, month, following) for parent in MONTHLY)
        month = following
    for days in range(-1, DAYS_AHEAD + 1):
        day = today + timedelta(days=days)
        yield from (Partition(parent, day, day + timedelta(days=1)) for parent in DAILY)


def _missing(wanted: list[Partition]) -> list[Partition]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname = ANY(%s)", [[part.name for part in wanted]]
        )
        there = {name for (name,) in cursor.fetchall()}
    return [part for part in wanted if part.name not in there]


def _today() -> date:
    with connection.cursor() as cursor:
        cursor.execute("SELECT (now() AT TIME ZONE 'UTC')::date")
        (today,) = cursor.fetchone()
    assert isinstance(today, date)
    return today
