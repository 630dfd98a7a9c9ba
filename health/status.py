"""How an endpoint does, in one word."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.metrics import Rate

HEALTHY_FROM = 0.9
FAILING_BELOW = 0.5


class Status(StrEnum):
    """Worst first: the order in which a list shows them."""

    FAILING = "failing"
    DEGRADED = "degraded"
    NO_VERDICT = "no verdict"
    STALE = "stale"
    WAITING = "waiting"
    HEALTHY = "healthy"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the status of an endpoint is decided by."""

    enabled: bool
    ttl: timedelta
    # None before the first run has ended.
    last_ended_at: datetime | None = None
    # The parse_success of that run; None where it gave no verdict.
    rate: Rate | None = None


def status_of(standing: Standing, now: datetime) -> Status:
    """The status by the last run alone: a stand-in until the detector looks at the history."""
    if not standing.enabled:
        return Status.OFF
    if standing.last_ended_at is None:
        return Status.WAITING
    if now - standing.last_ended_at > 2 * standing.ttl:
        return Status.STALE
    if standing.rate is None:
        return Status.NO_VERDICT
    return status_of_rate(standing.rate)


def status_of_rate(rate: Rate) -> Status:
    """The status that one run's rate alone speaks for."""
    if rate.value is None:
        return Status.NO_VERDICT
    if rate.value < FAILING_BELOW:
        return Status.FAILING
    return Status.HEALTHY if rate.value >= HEALTHY_FROM else Status.DEGRADED
