"""What the system itself is doing, as values: the system page, /metrics and the doctor read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class NamedEndpoints:
    """How many endpoints something holds for, and the slugs of the first few."""

    count: int = 0
    slugs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderLoad:
    provider: str
    waiting: int
    under_way: int
    limit: int


@dataclass(frozen=True, slots=True)
class LastHour:
    """Of the runs that ended in the last hour; claims count those under way too."""

    ended: Mapping[str, int]
    claims: int
    takeovers: int  # claims beyond the first: a worker before had stopped answering
    attempts: int
    void: int


@dataclass(frozen=True, slots=True)
class WorkerState:
    name: str
    started_at: datetime
    seen_at: datetime
    suite_version: str


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    name: str  # without the prefix that all tables share
    partitions: int
    first: date | None
    last: date | None  # when the last partition begins
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StoreState:
    """How far the rollups are, and what the rows take up."""

    database_bytes: int
    rollup_lag: timedelta | None  # None when nothing waits
    batches_waiting: int  # counted up to MOST_COUNTED, as are the rows of the overflow table
    overflow_rows: int
    tables: tuple[PartitionedTable, ...]
    missing: tuple[str, ...]  # partitions that should be there by now


@dataclass(frozen=True, slots=True)
class SystemState:
    at: datetime  # by the database's clock, as all the times in here
    # The age of the oldest endpoint that is due and has no run; None when there is none.
    scheduler_lag: timedelta | None
    duties: Mapping[str, datetime]
    runs: Mapping[str, int]
    waiting_since: datetime | None
    expired_leases: int
    providers: tuple[ProviderLoad, ...]
    last_hour: LastHour
    workers: tuple[WorkerState, ...]
    workers_gone: int  # seen within the last day, and not any more
    endpoints: int
    stale: NamedEndpoints
    spent_out: NamedEndpoints
    store: StoreState
    doorbells: int | None  # None when the broker does not answer

    def age(self, moment: datetime | None) -> timedelta | None:
        """How long ago by the database's clock; None where it never was."""
        return max(self.at - moment, timedelta(0)) if moment else None

    @property
    def waited(self) -> timedelta:
        """How long the oldest run has been waiting for a worker."""
        return self.age(self.waiting_since) or timedelta(0)

    @property
    def under_way(self) -> int:
        return self.runs.get("leased", 0) + self.runs.get("running", 0)
