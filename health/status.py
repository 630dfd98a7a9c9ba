"""How an endpoint does, in one word."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.detector import Known
from health.rates import Rate
from health.severity import Severity

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
class StatusFacts:
    """What the status of an endpoint is decided by."""

    enabled: bool
    ttl: timedelta
    # None before the first run has ended.
    last_ended_at: datetime | None = None
    # The parse_success of that run; None where it gave no verdict.
    rate: Rate | None = None
    # How much is known about what is normal for it.
    known: Known = Known.NONE
    # The worst of its open incidents.
    worst: Severity | None = None
    # It was never good enough for tools, which is no incident.
    below_gate: bool = False


def endpoint_status(standing: StatusFacts, now: datetime) -> Status:
    """The status by the watch; by the last run alone while nobody knows what is normal.

    An open incident outlasts silence: its modes are in force until runs prove a recovery.
    """
    if not standing.enabled:
        return Status.OFF
    if standing.last_ended_at is None:
        return Status.WAITING
    if standing.below_gate or standing.worst is not None:
        return _degraded(standing)
    if now - standing.last_ended_at > 2 * standing.ttl:
        return Status.STALE
    if standing.rate is None:
        return Status.NO_VERDICT
    # One unlucky run is no degradation: the watch says when there are too many.
    return rate_status(standing.rate) if standing.known is Known.NONE else Status.HEALTHY


def _degraded(standing: StatusFacts) -> Status:
    hopeless = standing.below_gate or standing.worst is Severity.S3
    return Status.FAILING if hopeless else Status.DEGRADED


def rate_status(rate: Rate) -> Status:
    """The status that one run's rate alone speaks for, whichever way the metric is good."""
    if not rate.trials:
        return Status.NO_VERDICT
    success = (rate.trials - rate.failures) / rate.trials
    if success < FAILING_BELOW:
        return Status.FAILING
    return Status.HEALTHY if success >= HEALTHY_FROM else Status.DEGRADED
