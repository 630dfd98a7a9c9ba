"""The status of an endpoint."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from health.detector import BaselineState
from health.rates import Rate
from health.severity import Severity
from probes.findings import FindingKind

HEALTHY_FROM = 0.9
FAILING_BELOW = 0.5


class Status(StrEnum):
    """Worst first: the order of lists."""

    FAILING = "failing"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
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
    # The kind of finding that left that run without a verdict.
    void_kind: str = ""
    baseline: BaselineState = BaselineState.NONE
    # The highest severity of its open incidents.
    worst: Severity | None = None
    # It never met the absolute gate, which is no incident.
    below_gate: bool = False


# What a run without any answer says about its endpoint. Other kinds, such as a rate limit or a
# fault of our own, say nothing.
_VOID_STATUSES = {
    FindingKind.UNREACHABLE.value: Status.UNREACHABLE,
    FindingKind.TIMED_OUT.value: Status.UNREACHABLE,
    FindingKind.BROKEN_OFF.value: Status.UNREACHABLE,
    FindingKind.OVERLOADED.value: Status.UNREACHABLE,
    FindingKind.AUTH_REJECTED.value: Status.REFUSED,
    FindingKind.NOT_FOUND.value: Status.REFUSED,
    FindingKind.REDIRECTED.value: Status.REFUSED,
    FindingKind.NOT_JSON.value: Status.REFUSED,
    FindingKind.PROVIDER_ERROR.value: Status.REFUSED,
    FindingKind.PARAM_UNKNOWN.value: Status.REFUSED,
    FindingKind.ROLE_REFUSED.value: Status.REFUSED,
    FindingKind.THINKING_MODE_REFUSED.value: Status.REFUSED,
}


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
        return _VOID_STATUSES.get(facts.void_kind, Status.NO_VERDICT)
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
