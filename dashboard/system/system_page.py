"""The system page: a verdict, tiles and tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from django.template.defaultfilters import filesizeformat
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.core.durations import format_relative_time, format_rough_duration
from dashboard.runs import pulses
from dashboard.system.doctor import work_in_progress
from dashboard.system.doctor.check import Check, Verdict
from dashboard.system.queries import MAX_COUNTED
from dashboard.system.state import PartitionedTable, ProviderLoad, SystemState
from health.status import Status

_TABLE_NAMES: dict[str, Promise] = {
    "observation": gettext_lazy("observations"),
    "attempt": gettext_lazy("attempts"),
    "evidence": gettext_lazy("evidence"),
    "rollup5m": gettext_lazy("rollups, 5 minutes"),
    "rolluphour": gettext_lazy("rollups, hours"),
}
_DUTY_NAMES: dict[str, Promise] = {
    pulses.SCHEDULE: gettext_lazy("Look for due endpoints and dead runs"),
    pulses.BEAT: gettext_lazy("Beat heard"),
    pulses.ROLL_UP: gettext_lazy("Roll up observations"),
    pulses.RETENTION: gettext_lazy("Clear away what is old"),
}


@dataclass(frozen=True, slots=True)
class Tile:
    label: str
    value: str
    detail: str


@dataclass(frozen=True, slots=True)
class SystemRow:
    """A worker or duty with the time of its last worker."""

    name: str
    last_seen: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    name: str
    partitions: int
    first: date | None
    last: date | None
    size: str


@dataclass(frozen=True, slots=True)
class SystemPage:
    status: Status
    verdict: str
    problems: list[Check]
    tiles: list[Tile]
    workers: list[SystemRow]
    workers_gone: int
    providers: tuple[ProviderLoad, ...]
    duties: list[SystemRow]
    wake_ups: str
    tables: list[TableRow]


def build_system_page(state: SystemState) -> SystemPage:
    problems = work_in_progress.find_problems(state)
    status, verdict = _system_verdict(problems)
    return SystemPage(
        status=status,
        verdict=verdict,
        problems=problems,
        tiles=[
            tile(state)
            for tile in (
                _schedule_tile,
                _runs_tile,
                _last_hour_tile,
                _void_tile,
                _rollups_tile,
                _size_tile,
            )
        ],
        workers=[
            SystemRow(
                worker.name,
                _time_ago(state, worker.seen_at),
                worker.suite_version or _("unknown suite"),
            )
            for worker in state.workers
        ],
        workers_gone=state.workers_gone,
        providers=state.providers,
        duties=_duty_rows(state),
        wake_ups=_wake_ups_text(state),
        tables=[_table_row(table) for table in state.store.tables],
    )


def _system_verdict(problems: list[Check]) -> tuple[Status, str]:
    if not problems:
        return Status.HEALTHY, _("Everything runs.")
    bad = sum(problem.verdict is Verdict.BAD for problem in problems)
    if bad:
        text = ngettext("{count} thing to mend.", "{count} things to mend.", bad)
        return Status.FAILING, text.format(count=bad)
    return Status.DEGRADED, _("It runs, with something to look at.")


def _schedule_tile(state: SystemState) -> Tile:
    lag = state.scheduler_lag
    if not lag:
        return Tile(_("Scheduler lag"), _("none"), _("nothing is overdue"))
    detail = _("the longest that an endpoint is due without a run")
    return Tile(_("Scheduler lag"), format_rough_duration(lag), detail)


def _runs_tile(state: SystemState) -> Tile:
    values = {"count": f"{state.runs['queued']:,}", "span": format_rough_duration(state.waited)}
    detail = (
        _("{count} queued, the oldest for {span}") if state.waiting_since else _("{count} queued")
    )
    return Tile(_("Runs under way"), str(state.under_way), detail.format(**values))


def _last_hour_tile(state: SystemState) -> Tile:
    ended, hour = state.last_hour.ended, state.last_hour
    inconclusive = sum(ended.values()) - ended.get("finished", 0)
    claims = ngettext("{count} claim", "{count} claims", hour.claims)
    takeovers = ngettext("{count} takeover", "{count} takeovers", hour.takeovers)
    parts = [claims.format(count=f"{hour.claims:,}"), takeovers.format(count=f"{hour.takeovers:,}")]
    if inconclusive:
        parts.insert(0, _("{count} without a verdict").format(count=f"{inconclusive:,}"))
    finished = f"{ended.get('finished', 0):,}"
    return Tile(_("Finished in the last hour"), finished, _(", ").join(parts))


def _void_tile(state: SystemState) -> Tile:
    hour = state.last_hour
    if not hour.attempts:
        return Tile(_("Void attempts"), _("no data"), _("no run ended in the last hour"))
    detail = _("{void} of {attempts} in the last hour").format(
        void=f"{hour.void:,}", attempts=f"{hour.attempts:,}"
    )
    return Tile(_("Void attempts"), f"{hour.void / hour.attempts:.1%}", detail)


def _rollups_tile(state: SystemState) -> Tile:
    store = state.store
    if store.batches_waiting >= MAX_COUNTED:
        detail = _("over {count} batches waiting")
    else:
        detail = ngettext("{count} batch waiting", "{count} batches waiting", store.batches_waiting)
    parts = [detail.format(count=f"{store.batches_waiting:,}")]
    if store.overflow_rows:
        rows = ngettext("{count} row in overflow", "{count} rows in overflow", store.overflow_rows)
        parts.append(rows.format(count=f"{store.overflow_rows:,}"))
    lag = format_rough_duration(store.rollup_lag) if store.rollup_lag else _("none")
    return Tile(_("Rollup lag"), lag, _(", ").join(parts))


def _size_tile(state: SystemState) -> Tile:
    endpoints = ngettext("{count} endpoint", "{count} endpoints", state.endpoints)
    parts = [endpoints.format(count=f"{state.endpoints:,}")]
    if state.stale.count:
        parts.append(_("{count} stale").format(count=f"{state.stale.count:,}"))
    return Tile(_("Database"), filesizeformat(state.store.database_bytes), _(", ").join(parts))


def _duty_rows(state: SystemState) -> list[SystemRow]:
    return [
        SystemRow(str(name), _time_ago(state, state.duties.get(duty)))
        for duty, name in _DUTY_NAMES.items()
    ]


def _wake_ups_text(state: SystemState) -> str:
    count = state.wake_ups
    if count is None:
        return _("The broker does not answer.")
    text = ngettext(
        "{count} doorbell in the broker, not heard yet.",
        "{count} doorbells in the broker, not heard yet.",
        count,
    )
    return text.format(count=f"{count:,}")


def _table_row(table: PartitionedTable) -> TableRow:
    name, size = str(_TABLE_NAMES.get(table.name, table.name)), filesizeformat(table.size_bytes)
    return TableRow(name, table.partitions, table.first, table.last, size)


def _time_ago(state: SystemState, moment: datetime | None) -> str:
    age = state.age(moment)
    return _("never") if age is None else format_relative_time(age)
