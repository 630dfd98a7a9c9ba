"""Checks that the state of the system answers by itself; its page shows those that are not ok."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings

from dashboard.doctor.check import Check, Verdict, bad, counted, listed, ok, warn
from dashboard.durations import rough
from dashboard.services import pulses
from dashboard.services.monitoring import MOST_COUNTED
from dashboard.system_state import SystemState
from probes.suite import SUITE_VERSION

LATE_AFTER = timedelta(minutes=2)
# A run that waits for longer is a backlog; with no run under way, nobody takes them.
WAITS_TOO_LONG = timedelta(minutes=10)
ROLLUP_SLOW, ROLLUP_STUCK = timedelta(minutes=2), timedelta(minutes=15)


def workers(state: SystemState) -> Check:
    if not state.workers:
        return bad(
            "workers",
            "No worker is alive, so nothing is probed.",
            "Start one: celery -A workers worker. If one runs, see in its log whether it reaches "
            "this database.",
        )
    alive = f"{counted(len(state.workers), 'worker')} alive"
    versions = sorted({SUITE_VERSION, *(worker.suite_version for worker in state.workers)})
    if len(versions) > 1:
        return warn(
            "workers",
            f"{alive}, and not all programs have the same suite: {', '.join(versions)}.",
            "Bring all workers and web processes to the same release.",
        )
    return ok("workers", f"{alive}, with {SUITE_VERSION}.")


def schedule(state: SystemState) -> Check:
    looked = state.age(state.duties.get(pulses.LOOK_AROUND))
    lag = state.scheduler_lag or timedelta(0)
    if looked is None or looked > _patience():
        last = f"for {rough(looked)}" if looked is not None else "yet"
        return bad(
            "schedule",
            f"Nobody has looked for due endpoints {last}.",
            "Every worker does it by its own timer: start a worker, or see what its log says.",
        )
    if lag > LATE_AFTER:
        return bad(
            "schedule",
            f"An endpoint has been due for {rough(lag)} and no run was queued.",
            "See the logs of the workers for what keeps them from queueing runs.",
        )
    return ok("schedule", f"Looked around {rough(looked)} ago; nothing is overdue.")


def beat(state: SystemState) -> Check:
    last = state.age(state.duties.get(pulses.BEAT))
    if last is None or last > _patience():
        seen = f"for {rough(last)}" if last is not None else "yet"
        return warn(
            "beat",
            f"No beat was heard {seen}. Workers do its work by their own timers.",
            "Start one: celery -A workers beat.",
        )
    return ok("beat", f"Heard {rough(last)} ago.")


def leases(state: SystemState) -> Check:
    if state.expired_leases:
        return bad(
            "leases",
            f"{counted(state.expired_leases, 'run')} held by a lease that ran out more than "
            f"{rough(2 * settings.RUN_LEASE)} ago, and nobody took over.",
            "A worker frees them within seconds: start one, or see what its log says.",
        )
    return ok("leases", f"{counted(state.under_way, 'run')} under way, no lease left behind.")


def queue(state: SystemState) -> Check:
    waiting, waited = counted(state.runs["queued"], "run"), state.waited
    if waited <= WAITS_TOO_LONG or not state.workers:
        return ok("queue", f"{waiting} queued, none waits for long.")
    found = f"{waiting} queued, the oldest waits for {rough(waited)}"
    if not state.under_way:
        return bad(
            "queue",
            f"{found}, and no run is under way though workers are alive.",
            "See the logs of the workers for why they claim nothing, and restart them.",
        )
    return warn(
        "queue",
        f"{found}.",
        "Start more workers, or allow a provider that is full more runs at once (PROVIDER_RUNS).",
    )


def rollups(state: SystemState) -> Check:
    lag = state.store.rollup_lag or timedelta(0)
    batches = _counted_up_to_a_limit(state.store.batches_waiting, "batch", "batches")
    if lag <= ROLLUP_SLOW:
        return ok("rollups", f"{batches} of observations to roll up, none waits for long.")
    found = f"{batches} of observations not rolled up, the oldest for {rough(lag)}."
    do = "Charts lag behind by as much. Workers roll up by their own timer: see their logs."
    return (bad if lag > ROLLUP_STUCK else warn)("rollups", found, do)


def partitions(state: SystemState) -> Check:
    if state.store.missing:
        return bad(
            "partitions",
            f"{len(state.store.missing)} missing: {', '.join(state.store.missing[:5])}"
            f"{' and more' if len(state.store.missing) > 5 else ''}.",
            "Every worker makes them ahead of time: start one, or see what its log says.",
        )
    count = sum(table.partitions for table in state.store.tables)
    return ok("partitions", f"{counted(count, 'partition')}, made up to a week and a month ahead.")


def overflow(state: SystemState) -> Check:
    if state.store.overflow_rows:
        rows = _counted_up_to_a_limit(state.store.overflow_rows, "observation")
        return warn(
            "overflow",
            f"{rows} came in while their day had no partition.",
            "A worker brings them home bit by bit; if this does not go away, see its log.",
        )
    return ok("overflow", "Empty.")


def stale(state: SystemState) -> Check:
    if state.stale.count:
        return warn(
            "stale endpoints",
            f"{counted(state.stale.count, 'endpoint')} without a verdict for more than twice the "
            f"time to live: {listed(state.stale)}.",
            "Open the endpoint to see why its last runs came to no verdict.",
        )
    return ok("stale endpoints", f"None of {counted(state.endpoints, 'endpoint')}.")


def budgets(state: SystemState) -> Check:
    if state.spent_out.count:
        return warn(
            "budgets",
            f"{counted(state.spent_out.count, 'endpoint')} with no budget left for today (UTC): "
            f"{listed(state.spent_out)}.",
            "Raise the daily budget, lengthen the time to live, or wait for tomorrow.",
        )
    return ok("budgets", "No endpoint has spent its day's budget.")


def doorbells(state: SystemState) -> Check:
    if state.doorbells is None:
        return bad(
            "doorbells",
            "The broker (Redis or Valkey) does not answer. Runs start late, and none is lost.",
            "Start it, or set REDIS_URL to where it is.",
        )
    return ok("doorbells", f"{state.doorbells} waiting to be heard.")


CHECKS: tuple[Callable[[SystemState], Check], ...] = (
    workers,
    schedule,
    beat,
    leases,
    queue,
    rollups,
    partitions,
    overflow,
    doorbells,
    stale,
    budgets,
)


def troubles(state: SystemState) -> list[Check]:
    """What is not as it should be, the worst first."""
    found = [check(state) for check in CHECKS]
    return [
        check
        for verdict in (Verdict.BAD, Verdict.WARN)
        for check in found
        if check.verdict is verdict
    ]


def _patience() -> timedelta:
    """How long a duty may lie undone before it counts as neglected."""
    return max(timedelta(seconds=90), 4 * settings.SCHEDULE_EVERY)


def _counted_up_to_a_limit(count: int, one: str, many: str = "") -> str:
    return ("more than " if count >= MOST_COUNTED else "") + counted(count, one, many)
