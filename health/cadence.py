"""When an endpoint is to be probed next, and why, once a run of it has ended with a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

# While an alarm is open, so much more often than the TTL asks: only probes can prove recovery,
# since live traffic is under the fallback.
RECOVERY_SHARE = 4
RECOVERY_SOONEST = timedelta(minutes=15)


class Why(StrEnum):
    """The triggers that follow from a run."""

    TTL = "ttl"
    BASELINE = "baseline"
    CONFIRM = "confirm"
    RECOVERY = "recovery"
    FINGERPRINT = "fingerprint"


@dataclass(frozen=True, slots=True)
class Finished:
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
class Waits:
    """How long to wait before runs that are wanted sooner than the TTL."""

    baseline: timedelta
    confirm: timedelta


@dataclass(frozen=True, slots=True)
class Next:
    """The run that follows. What is left of the first burst is counted down here."""

    why: Why
    wait: timedelta
    onboarding_left: int


def after(run: Finished, waits: Waits) -> Next:
    """The run that follows this one."""
    onboarding = max(run.onboarding_left - 1, 0)
    # First, since it is full as well, and runs within one minute confirm little.
    if run.wants_confirmation:
        return Next(Why.CONFIRM, min(run.ttl, waits.confirm), onboarding)
    if run.fingerprint_changed and run.suite == "light":
        return Next(Why.FINGERPRINT, timedelta(), onboarding)
    if onboarding:
        return Next(Why.BASELINE, waits.baseline, onboarding)
    if run.is_degraded:
        sooner = max(run.ttl / RECOVERY_SHARE, RECOVERY_SOONEST)
        return Next(Why.RECOVERY, min(run.ttl, sooner), onboarding)
    return Next(Why.TTL, run.ttl, onboarding)
