"""The status of an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.detector import BaselineState
from health.rates import Rate
from health.severity import Severity

HEALTHY_FROM = 0.9
FAILING_BELOW = 0.5


class Status(StrEnum):
    """Worst first: the order of lists."""

    FAILING = "failing"
    DEGRADED = "degraded"
    NO_VERDICT = "no verdict"
    STALE = "stale"
    WAITING = "waiting"
    HEALTHY = "healthy"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """The inputs of the status of an endpoint."""

    enabled: bool
    ttl: timedelta
    # None until the first run has ended.
    last_ended_at: datetime | None = None
    # The parse_success of that run; None if it has no verdict.
    rate: Rate | None = None
    baseline: BaselineState = BaselineState.NONE
    # The highest severity of its open incidents.
    worst: Severity | None = None
    # It never met the absolute gate, which is no incident.
    below_gate: bool = False


def endpoint_status(facts: StatusFacts, now: datetime) -> Status:
    """The status according to the watch, or to the last run alone while there is no baseline.

    An open incident outlasts staleness: its modes are in force until runs prove a recovery.
    """
    if not facts.enabled:
        return Status.OFF
    if facts.last_ended_at is None:
        return Status.WAITING
    if facts.below_gate or facts.worst is not None:
        return _degraded(facts)
    if now - facts.last_ended_at > 2 * facts.ttl:
        return Status.STALE
    if facts.rate is None:
        return Status.NO_VERDICT
    # One bad run is no degradation: the watch decides when there are too many.
    return rate_status(facts.rate) if facts.baseline is BaselineState.NONE else Status.HEALTHY


def _degraded(facts: StatusFacts) -> Status:
    hopeless = facts.below_gate or facts.worst is Severity.S3
    return Status.FAILING if hopeless else Status.DEGRADED


def rate_status(rate: Rate) -> Status:
    """The status by the success rate of one run, in whichever direction the metric is good."""
    if not rate.trials:
        return Status.NO_VERDICT
    success = (rate.trials - rate.failures) / rate.trials
    if success < FAILING_BELOW:
        return Status.FAILING
    return Status.HEALTHY if success >= HEALTHY_FROM else Status.DEGRADED
