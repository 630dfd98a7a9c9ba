"""When an endpoint is to be probed next, and why, once a run of it has ended with a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from health.metrics import Rate
from health.status import Status, status_of_rate

# How often a run that was confirmed to be worse is looked at again, against the TTL.
RECOVERY_SHARE = 4
RECOVERY_RUNS = 8
RECOVERY_SOONEST = timedelta(minutes=15)
_WORST_FIRST = (Status.FAILING, Status.DEGRADED, Status.HEALTHY)


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

    trigger: str
    suite: str
    ttl: timedelta
    rate: Rate | None
    # Of the run before, under the same profile.
    rate_before: Rate | None
    fingerprint_changed: bool
    onboarding_left: int
    recovery_left: int


@dataclass(frozen=True, slots=True)
class Waits:
    """How long to wait before runs that are wanted sooner than the TTL."""

    baseline: timedelta
    confirm: timedelta


@dataclass(frozen=True, slots=True)
class Next:
    """The run that follows. What is left of a burst is counted down here."""

    why: Why
    wait: timedelta
    onboarding_left: int
    recovery_left: int


def after(run: Finished, waits: Waits) -> Next:
    """The run that follows this one: a stand-in for what the detector will ask for."""
    onboarding = max(run.onboarding_left - 1, 0)
    recovery = _recovery_left(run)
    if run.fingerprint_changed and run.suite == "light":
        return Next(Why.FINGERPRINT, timedelta(), onboarding, recovery)
    if _is_worse(run.rate, run.rate_before) and run.trigger != Why.CONFIRM:
        return Next(Why.CONFIRM, waits.confirm, onboarding, recovery)
    if onboarding:
        return Next(Why.BASELINE, waits.baseline, onboarding, recovery)
    if recovery:
        sooner = max(run.ttl / RECOVERY_SHARE, RECOVERY_SOONEST)
        return Next(Why.RECOVERY, min(run.ttl, sooner), onboarding, recovery)
    return Next(Why.TTL, run.ttl, onboarding, recovery)


def _recovery_left(run: Finished) -> int:
    if _place(run.rate) == len(_WORST_FIRST) - 1:
        return 0
    if run.trigger == Why.CONFIRM:
        return RECOVERY_RUNS
    return max(run.recovery_left - 1, 0)


def _is_worse(rate: Rate | None, before: Rate | None) -> bool:
    place, place_before = _place(rate), _place(before)
    return place is not None and place_before is not None and place < place_before


def _place(rate: Rate | None) -> int | None:
    if rate is None or rate.value is None:
        return None
    return _WORST_FIRST.index(status_of_rate(rate))
