"""When an endpoint is to be probed next, and why, once a run of it has ended with a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

# While an alarm is open, so much more often than the TTL asks: only probes can prove recovery,
# since live traffic is under the fallback.
RECOVERY_SHARE = 4
RECOVERY_SOONEST = timedelta(minutes=15)


class NextTrigger(StrEnum):
    """The triggers that follow from a run."""

    TTL = "ttl"
    BASELINE = "baseline"
    CONFIRM = "confirm"
    RECOVERY = "recovery"
    FINGERPRINT = "fingerprint"


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
