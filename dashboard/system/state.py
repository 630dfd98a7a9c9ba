"""The state of the system, for the system page, /metrics and the doctor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta


@dataclass(frozen=True, slots=True)
class NamedEndpoints:
    """A number of endpoints with the slugs of the first ones."""

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
    """Totals of the runs that ended in the last hour; claims include active runs."""

    ended: Mapping[str, int]
    claims: int
    takeovers: int  # claims after the first, because a worker stopped responding
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
    name: str  # without the common prefix
    partitions: int
    first: date | None
    last: date | None  # the start of the last partition
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StoreState:
    """The lag of the rollups and the sizes of the tables."""

    database_bytes: int
    rollup_lag: timedelta | None  # None if no batch is waiting
    batches_waiting: int  # counted up to MAX_COUNTED, as overflow_rows
    overflow_rows: int
    tables: tuple[PartitionedTable, ...]
    missing: tuple[str, ...]  # partitions that should exist


@dataclass(frozen=True, slots=True)
class SystemState:
    at: datetime  # by the clock of the database, as all other times
    # The age of the oldest due endpoint without a run; None if there is none.
    scheduler_lag: timedelta | None
    duties: Mapping[str, datetime]
    runs: Mapping[str, int]
    waiting_since: datetime | None
    expired_leases: int
    providers: tuple[ProviderLoad, ...]
    last_hour: LastHour
    workers: tuple[WorkerState, ...]
    workers_gone: int  # seen within the last day, but not recently
    endpoints: int
    stale: NamedEndpoints
    spent_out: NamedEndpoints
    store: StoreState
    wake_ups: int | None  # waiting in the broker; None if it does not respond

    def age(self, moment: datetime | None) -> timedelta | None:
        """The age of a moment, or None without one."""
        return max(self.at - moment, timedelta(0)) if moment else None

    @property
    def waited(self) -> timedelta:
        """The waiting time of the oldest queued run."""
        return self.age(self.waiting_since) or timedelta(0)

    @property
    def under_way(self) -> int:
        return self.runs.get("leased", 0) + self.runs.get("running", 0)
