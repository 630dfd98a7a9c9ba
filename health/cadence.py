"""When an endpoint is to be probed next, and why, once a run of it has ended.

The product and the player of the demo both plan by `plan_after_run`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from health.watch import Watch

# While an alarm is open, so much more often than the TTL asks: only probes can prove recovery,
# since live traffic is under the fallback.
RECOVERY_SHARE = 4
RECOVERY_SOONEST = timedelta(minutes=15)
# Wait before the next run after one without a verdict: doubles so often, up to the TTL.
FRUITLESS_WAIT = timedelta(minutes=15)
MOST_FRUITLESS = 20


class NextTrigger(StrEnum):
    """The triggers that follow from a run."""

    TTL = "ttl"
    BASELINE = "baseline"
    CONFIRM = "confirm"
    RECOVERY = "recovery"
    FINGERPRINT = "fingerprint"


KEY_CHANGE = "key_change"
# The triggers whose run is the full suite; so is the first run of every profile.
FULL_SUITE = (KEY_CHANGE, NextTrigger.CONFIRM.value, NextTrigger.FINGERPRINT.value)


@dataclass(frozen=True, slots=True)
class DueState:
    """Why an endpoint is due, the runs left of its first burst, and those without a verdict."""

    why: str
    onboarding_left: int
    # In a row.
    fruitless: int = 0


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended."""

    suite: str
    ttl: timedelta
    has_verdict: bool
    fingerprint_changed: bool


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What is known when a run has ended with a verdict."""

    suite: str
    ttl: timedelta
    fingerprint_changed: bool
    onboarding_left: int
    # The detector warns, and runs that confirm it or not are still wanted.
    wants_confirmation: bool
    # An alarm is open.
    is_degraded: bool


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """How long to wait before runs that are wanted sooner than the TTL."""

    baseline: timedelta
    confirm: timedelta


@dataclass(frozen=True, slots=True)
class NextRun:
    """The run that follows. What is left of the first burst is counted down here."""

    why: NextTrigger
    wait: timedelta
    onboarding_left: int


def plan_after_run(
    run: EndedRun, before: DueState, watch: Watch, waits: WaitTimes
) -> tuple[DueState, timedelta]:
    """Why an endpoint is due again, and how long after this run.

    Without a verdict the reason stays what it was. `watch` is the state after the run.
    """
    if not run.has_verdict:
        fruitless = min(before.fruitless + 1, MOST_FRUITLESS)
        return replace(before, fruitless=fruitless), back_off(before.fruitless, run.ttl)
    finished = FinishedRun(
        suite=run.suite,
        ttl=run.ttl,
        fingerprint_changed=run.fingerprint_changed,
        onboarding_left=before.onboarding_left,
        wants_confirmation=watch.wants_confirmation,
        is_degraded=bool(watch.alarms),
    )
    follows = plan_next_run(finished, waits)
    return DueState(follows.why.value, follows.onboarding_left), follows.wait


def back_off(fruitless: int, ttl: timedelta) -> timedelta:
    """The wait after one more run without a verdict than so many in a row."""
    return min(ttl, FRUITLESS_WAIT * (1 << min(fruitless, MOST_FRUITLESS)))


def suite_for(why: str, *, is_known: bool) -> str:
    """The suite of a run; `is_known` is whether its profile was measured before."""
    return "full" if why in FULL_SUITE or not is_known else "light"


def plan_next_run(run: FinishedRun, waits: WaitTimes) -> NextRun:
    """The run that follows this one."""
    onboarding = max(run.onboarding_left - 1, 0)
    # First, since it is full as well, and runs within one minute confirm little.
    if run.wants_confirmation:
        return NextRun(NextTrigger.CONFIRM, min(run.ttl, waits.confirm), onboarding)
    if run.fingerprint_changed and run.suite == "light":
        return NextRun(NextTrigger.FINGERPRINT, timedelta(), onboarding)
    if onboarding:
        return NextRun(NextTrigger.BASELINE, waits.baseline, onboarding)
    if run.is_degraded:
        sooner = max(run.ttl / RECOVERY_SHARE, RECOVERY_SOONEST)
        return NextRun(NextTrigger.RECOVERY, min(run.ttl, sooner), onboarding)
    return NextRun(NextTrigger.TTL, run.ttl, onboarding)
