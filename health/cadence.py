"""When and why an endpoint is probed next after a run has ended.

The scheduler and the demo player both use `plan_after_run`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from health.watch import Watch

# While an alarm is open, probes run this many times per TTL: only probes can prove recovery,
# since live traffic runs in fallback modes.
RECOVERY_SHARE = 4
RECOVERY_SOONEST = timedelta(minutes=15)
# Wait after a run without a verdict. It doubles with every such run in a row, up to the TTL.
FRUITLESS_WAIT = timedelta(minutes=15)
MOST_FRUITLESS = 20


class NextTrigger(StrEnum):
    """Triggers of a run that the run before it caused."""

    TTL = "ttl"
    BASELINE = "baseline"
    CONFIRM = "confirm"
    RECOVERY = "recovery"
    FINGERPRINT = "fingerprint"


KEY_CHANGE = "key_change"
# Triggers that run the full suite. The first run of every profile is full as well.
FULL_SUITE = (KEY_CHANGE, NextTrigger.CONFIRM.value, NextTrigger.FINGERPRINT.value)


@dataclass(frozen=True, slots=True)
class DueState:
    """Why an endpoint is due, its remaining onboarding runs, and its runs without a verdict."""

    why: str
    onboarding_left: int
    # Consecutive runs without a verdict.
    fruitless: int = 0


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended, with or without a verdict."""

    suite: str
    ttl: timedelta
    has_verdict: bool
    fingerprint_changed: bool


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended with a verdict, and the state of the watch after it."""

    suite: str
    ttl: timedelta
    fingerprint_changed: bool
    onboarding_left: int
    # The detector warns, and confirmation runs remain.
    wants_confirmation: bool
    # An alarm is open.
    is_degraded: bool


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """Waits before the runs that come sooner than the TTL."""

    baseline: timedelta
    confirm: timedelta


@dataclass(frozen=True, slots=True)
class NextRun:
    """The next run. `onboarding_left` is already counted down."""

    why: NextTrigger
    wait: timedelta
    onboarding_left: int


def plan_after_run(
    run: EndedRun, before: DueState, watch: Watch, waits: WaitTimes
) -> tuple[DueState, timedelta]:
    """The next due state, and the wait after this run.

    Without a verdict the reason does not change. `watch` is the state after the run.
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
    """The wait after a run without a verdict that followed `fruitless` others in a row."""
    return min(ttl, FRUITLESS_WAIT * (1 << min(fruitless, MOST_FRUITLESS)))


def suite_for(why: str, *, is_known: bool) -> str:
    """The suite of a run; `is_known` means that its profile was measured before."""
    return "full" if why in FULL_SUITE or not is_known else "light"


def plan_next_run(run: FinishedRun, waits: WaitTimes) -> NextRun:
    """The trigger and the wait of the next run."""
    onboarding = max(run.onboarding_left - 1, 0)
    # Before a fingerprint change: both run the full suite, but runs within a minute confirm little.
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
