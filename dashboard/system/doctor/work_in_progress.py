"""Checks of the system state; the system page shows those that are not ok.

Problems are translated for the page. The messages of passed checks appear only on the console.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dashboard.core.durations import format_rough_duration
from dashboard.runs import pulses
from dashboard.system.doctor.check import Check, Verdict, bad, count_noun, join_slugs, ok, warn
from dashboard.system.queries import MAX_COUNTED
from dashboard.system.state import NamedEndpoints, SystemState
from probes.suite import SUITE_VERSION

LATE_AFTER = timedelta(minutes=2)
# A longer wait is a backlog, or a stuck queue if no run is in progress.
MAX_QUEUE_WAIT = timedelta(minutes=10)
ROLLUP_SLOW, ROLLUP_STUCK = timedelta(minutes=2), timedelta(minutes=15)


def workers(state: SystemState) -> Check:
    if not state.workers:
        return bad(
            "workers",
            _("No worker is alive, so nothing is probed."),
            _(
                "Start one: celery -A workers worker. If one runs, see in its log whether it "
                "reaches this database."
            ),
        )
    count = len(state.workers)
    versions = sorted({SUITE_VERSION, *(worker.suite_version for worker in state.workers)})
    if len(versions) > 1:
        return warn(
            "workers",
            ngettext(
                "{count} worker alive, and not all programs have the same suite: {versions}.",
                "{count} workers alive, and not all programs have the same suite: {versions}.",
                count,
            ).format(count=count, versions=", ".join(versions)),
            _("Bring all workers and web processes to the same release."),
        )
    return ok("workers", f"{count_noun(count, 'worker')} alive, with {SUITE_VERSION}.")


def schedule(state: SystemState) -> Check:
    last_look = state.age(state.duties.get(pulses.SCHEDULE))
    lag = state.scheduler_lag or timedelta(0)
    if last_look is None or last_look > _max_duty_age():
        return bad(
            "schedule",
            _("Nobody has looked for due endpoints yet.")
            if last_look is None
            else _("Nobody has looked for due endpoints for {span}.").format(
                span=format_rough_duration(last_look)
            ),
            _("Every worker does it by its own timer: start a worker, or see what its log says."),
        )
    if lag > LATE_AFTER:
        return bad(
            "schedule",
            _("An endpoint has been due for {span} and no run was queued.").format(
                span=format_rough_duration(lag)
            ),
            _("See the logs of the workers for what keeps them from queueing runs."),
        )
    return ok(
        "schedule", f"Looked around {format_rough_duration(last_look)} ago; nothing is overdue."
    )


def beat(state: SystemState) -> Check:
    last = state.age(state.duties.get(pulses.BEAT))
    if last is None or last > _max_duty_age():
        return warn(
            "beat",
            _("No beat was heard yet. Workers do its work by their own timers.")
            if last is None
            else _("No beat was heard for {span}. Workers do its work by their own timers.").format(
                span=format_rough_duration(last)
            ),
            _("Start one: celery -A workers beat."),
        )
    return ok("beat", f"Heard {format_rough_duration(last)} ago.")


def leases(state: SystemState) -> Check:
    if state.expired_leases:
        return bad(
            "leases",
            ngettext(
                "{count} run held by a lease that ran out more than {span} ago, and nobody took "
                "over.",
                "{count} runs held by a lease that ran out more than {span} ago, and nobody took "
                "over.",
                state.expired_leases,
            ).format(
                count=state.expired_leases, span=format_rough_duration(2 * settings.RUN_LEASE)
            ),
            _("A worker frees them within seconds: start one, or see what its log says."),
        )
    return ok("leases", f"{count_noun(state.under_way, 'run')} under way, no lease left behind.")


def queue(state: SystemState) -> Check:
    queued, waited = state.runs["queued"], state.waited
    if waited <= MAX_QUEUE_WAIT or not state.workers:
        return ok("queue", f"{count_noun(queued, 'run')} queued, none waits for long.")
    if not state.under_way:
        text = ngettext(
            "{count} run queued, the oldest waits for {span}, and no run is under way though "
            "workers are alive.",
            "{count} runs queued, the oldest waits for {span}, and no run is under way though "
            "workers are alive.",
            queued,
        )
        advice = _("See the logs of the workers for why they claim nothing, and restart them.")
        return bad(
            "queue", text.format(count=f"{queued:,}", span=format_rough_duration(waited)), advice
        )
    text = ngettext(
        "{count} run queued, the oldest waits for {span}.",
        "{count} runs queued, the oldest waits for {span}.",
        queued,
    )
    advice = _(
        "Start more workers, or allow a provider that is full more runs at once (PROVIDER_RUNS)."
    )
    return warn(
        "queue", text.format(count=f"{queued:,}", span=format_rough_duration(waited)), advice
    )


def rollups(state: SystemState) -> Check:
    lag = state.store.rollup_lag or timedelta(0)
    count = state.store.batches_waiting
    if lag <= ROLLUP_SLOW:
        batches = count_noun(count, "batch", "batches")
        return ok("rollups", f"{batches} of observations to roll up, none waits for long.")
    text = ngettext(
        "{count} batch of observations not rolled up, the oldest for {span}.",
        "{count} batches of observations not rolled up, the oldest for {span}.",
        count,
    ).format(count=_capped_count(count), span=format_rough_duration(lag))
    advice = _("Charts lag behind by as much. Workers roll up by their own timer: see their logs.")
    return (bad if lag > ROLLUP_STUCK else warn)("rollups", text, advice)


def partitions(state: SystemState) -> Check:
    if missing := state.store.missing:
        named = join_slugs(NamedEndpoints(len(missing), missing[:5]))
        return bad(
            "partitions",
            _("{count} missing: {names}.").format(count=len(missing), names=named),
            _("Every worker makes them ahead of time: start one, or see what its log says."),
        )
    count = sum(table.partitions for table in state.store.tables)
    return ok(
        "partitions", f"{count_noun(count, 'partition')}, made up to a week and a month ahead."
    )


def overflow(state: SystemState) -> Check:
    if state.store.overflow_rows:
        text = ngettext(
            "{count} observation came in while its day had no partition.",
            "{count} observations came in while their day had no partition.",
            state.store.overflow_rows,
        )
        return warn(
            "overflow",
            text.format(count=_capped_count(state.store.overflow_rows)),
            _("A worker brings them home bit by bit; if this does not go away, see its log."),
        )
    return ok("overflow", "Empty.")


def stale(state: SystemState) -> Check:
    if state.stale.count:
        return warn(
            "stale endpoints",
            ngettext(
                "{count} endpoint without a verdict for more than twice the time to live: {names}.",
                "{count} endpoints without a verdict for more than twice the time to live: "
                "{names}.",
                state.stale.count,
            ).format(count=state.stale.count, names=join_slugs(state.stale)),
            _("Open the endpoint to see why its last runs came to no verdict."),
        )
    return ok("stale endpoints", f"None of {count_noun(state.endpoints, 'endpoint')}.")


def budgets(state: SystemState) -> Check:
    if state.spent_out.count:
        return warn(
            "budgets",
            ngettext(
                "{count} endpoint with no budget left for today (UTC): {names}.",
                "{count} endpoints with no budget left for today (UTC): {names}.",
                state.spent_out.count,
            ).format(count=state.spent_out.count, names=join_slugs(state.spent_out)),
            _("Raise the daily budget, lengthen the time to live, or wait for tomorrow."),
        )
    return ok("budgets", "No endpoint has spent its day's budget.")


def broker(state: SystemState) -> Check:
    if state.wake_ups is None:
        return bad(
            "doorbells",
            _("The broker (Redis or Valkey) does not answer. Runs start late, and none is lost."),
            _("Start it, or set REDIS_URL to where it is."),
        )
    return ok("doorbells", f"{state.wake_ups} waiting to be heard.")


CHECKS: tuple[Callable[[SystemState], Check], ...] = (
    workers,
    schedule,
    beat,
    leases,
    queue,
    rollups,
    partitions,
    overflow,
    broker,
    stale,
    budgets,
)


def find_problems(state: SystemState) -> list[Check]:
    """The checks that are not ok, the worst first."""
    checks = [check(state) for check in CHECKS]
    return [
        check
        for verdict in (Verdict.BAD, Verdict.WARN)
        for check in checks
        if check.verdict is verdict
    ]


def _max_duty_age() -> timedelta:
    """The age from which a duty counts as overdue."""
    return max(timedelta(seconds=90), 4 * settings.SCHEDULE_EVERY)


def _capped_count(count: int) -> str:
    text = f"{count:,}"
    return _("more than {count}").format(count=text) if count >= MAX_COUNTED else text
