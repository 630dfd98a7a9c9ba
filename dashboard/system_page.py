"""What the system page shows, in words: a verdict, a few tiles, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from django.template.defaultfilters import filesizeformat

from dashboard.doctor import running
from dashboard.doctor.check import Check, Verdict, counted
from dashboard.durations import rough
from dashboard.services import pulses
from dashboard.services.monitoring import MOST_COUNTED
from dashboard.system_state import PartitionedTable, ProviderLoad, SystemState
from health.status import Status

# What a person calls the tables.
_TABLES = {
    "observation": "observations",
    "attempt": "attempts",
    "evidence": "evidence",
    "rollup5m": "rollups, 5 minutes",
    "rolluphour": "rollups, hours",
}
_DUTIES = {
    pulses.LOOK_AROUND: "Look for due endpoints and dead runs",
    pulses.BEAT: "Beat heard",
    pulses.ROLL_UP: "Roll up observations",
    pulses.RETENTION: "Clear away what is old",
}


@dataclass(frozen=True, slots=True)
class Tile:
    label: str
    value: str
    detail: str


@dataclass(frozen=True, slots=True)
class Line:
    """A row of two columns: the name of a thing, and what is to be said about it."""

    name: str
    words: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    partitions: int
    first: date | None
    last: date | None
    size: str


@dataclass(frozen=True, slots=True)
class SystemPage:
    status: Status
    verdict: str
    troubles: list[Check]
    tiles: list[Tile]
    workers: list[Line]
    workers_gone: int
    providers: tuple[ProviderLoad, ...]
    duties: list[Line]
    doorbells: str
    tables: list[Table]


def of(state: SystemState) -> SystemPage:
    troubles = running.troubles(state)
    status, verdict = _verdict(troubles)
    return SystemPage(
        status=status,
        verdict=verdict,
        troubles=troubles,
        tiles=[tile(state) for tile in (_schedule, _runs, _last_hour, _voids, _rollups, _size)],
        workers=[
            Line(sign.name, _ago(state, sign.seen_at), sign.suite_version or "unknown suite")
            for sign in state.workers
        ],
        workers_gone=state.workers_gone,
        providers=state.providers,
        duties=_duties(state),
        doorbells=_doorbells(state),
        tables=[_table(table) for table in state.store.tables],
    )


def _verdict(troubles: list[Check]) -> tuple[Status, str]:
    if not troubles:
        return Status.HEALTHY, "Everything runs."
    bad = sum(trouble.verdict is Verdict.BAD for trouble in troubles)
    if bad:
        return Status.FAILING, f"{counted(bad, 'thing')} to mend."
    return Status.DEGRADED, "It runs, with something to look at."


def _schedule(state: SystemState) -> Tile:
    lag = state.scheduler_lag
    detail = "the longest that an endpoint is due without a run" if lag else "nothing is overdue"
    return Tile("Scheduler lag", rough(lag) if lag else "none", detail)


def _runs(state: SystemState) -> Tile:
    queued = state.runs["queued"]
    oldest = f", the oldest for {rough(state.waited)}" if state.waiting_since else ""
    return Tile("Runs under way", str(state.under_way), f"{queued:,} queued{oldest}")


def _last_hour(state: SystemState) -> Tile:
    ended, hour = state.last_hour.ended, state.last_hour
    without = sum(ended.values()) - ended.get("finished", 0)
    told = [counted(hour.claims, "claim"), counted(hour.takeovers, "takeover")]
    detail = ", ".join([*([f"{without:,} without a verdict"] if without else []), *told])
    return Tile("Finished in the last hour", f"{ended.get('finished', 0):,}", detail)


def _voids(state: SystemState) -> Tile:
    hour = state.last_hour
    if not hour.attempts:
        return Tile("Void attempts", "no data", "no run ended in the last hour")
    share = f"{hour.void / hour.attempts:.1%}"
    return Tile("Void attempts", share, f"{hour.void:,} of {hour.attempts:,} in the last hour")


def _rollups(state: SystemState) -> Tile:
    store = state.store
    more = "over " if store.batches_waiting >= MOST_COUNTED else ""
    detail = f"{more}{counted(store.batches_waiting, 'batch', 'batches')} waiting"
    if store.overflow_rows:
        detail += f", {counted(store.overflow_rows, 'row')} in overflow"
    return Tile("Rollup lag", rough(store.rollup_lag) if store.rollup_lag else "none", detail)


def _size(state: SystemState) -> Tile:
    stale = f", {state.stale.count:,} stale" if state.stale.count else ""
    detail = f"{counted(state.endpoints, 'endpoint')}{stale}"
    return Tile("Database", filesizeformat(state.store.database_bytes), detail)


def _duties(state: SystemState) -> list[Line]:
    return [Line(words, _ago(state, state.duties.get(duty))) for duty, words in _DUTIES.items()]


def _doorbells(state: SystemState) -> str:
    if state.doorbells is None:
        return "The broker does not answer."
    return f"{counted(state.doorbells, 'doorbell')} in the broker, not heard yet."


def _table(table: PartitionedTable) -> Table:
    name, size = _TABLES.get(table.name, table.name), filesizeformat(table.size_bytes)
    return Table(name, table.partitions, table.first, table.last, size)


def _ago(state: SystemState, moment: datetime | None) -> str:
    age = state.age(moment)
    return "never" if age is None else f"{rough(age)} ago"
