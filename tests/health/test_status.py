from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from health.detector import BaselineState
from health.rates import Rate
from health.severity import Severity
from health.status import Status, StatusFacts, endpoint_status

NOW = datetime(2026, 11, 3, 12, tzinfo=UTC)
TTL = timedelta(hours=6)


@pytest.mark.parametrize(
    ("failures", "status"),
    [
        (0, Status.HEALTHY),
        (1, Status.HEALTHY),
        (2, Status.DEGRADED),
        (5, Status.DEGRADED),
        (6, Status.FAILING),
        (10, Status.FAILING),
    ],
)
def test_without_a_baseline_the_last_rate_decides(failures: int, status: Status) -> None:
    """An endpoint is healthy from 90 % on, and failing below 50 %."""
    facts = StatusFacts(True, TTL, NOW - TTL, Rate(10, failures))

    assert endpoint_status(facts, NOW) is status


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (StatusFacts(True, TTL), Status.WAITING),
        (StatusFacts(True, TTL, NOW), Status.NO_VERDICT),
        (StatusFacts(True, TTL, NOW - 2 * TTL, Rate(5, 0)), Status.HEALTHY),
        (StatusFacts(True, TTL, NOW - 2.01 * TTL, Rate(5, 0)), Status.STALE),
        (StatusFacts(False, TTL, NOW, Rate(5, 0)), Status.OFF),
    ],
)
def test_without_a_fresh_rate_the_status_says_why(facts: StatusFacts, status: Status) -> None:
    """Off, waiting, stale and without a verdict are different statuses."""
    assert endpoint_status(facts, NOW) is status


@pytest.mark.parametrize("baseline", [BaselineState.PROVISIONAL, BaselineState.FROZEN])
def test_one_unlucky_run_is_no_degradation(baseline: BaselineState) -> None:
    """With a baseline, only the watch can call an endpoint degraded."""
    facts = StatusFacts(True, TTL, NOW, Rate(10, 10), baseline=baseline)

    assert endpoint_status(facts, NOW) is Status.HEALTHY


@pytest.mark.parametrize(
    ("worst", "status"),
    [
        (Severity.S1, Status.DEGRADED),
        (Severity.S2, Status.DEGRADED),
        (Severity.S3, Status.FAILING),
    ],
)
def test_the_worst_open_incident_decides(worst: Severity, status: Status) -> None:
    """A good run does not hide an open incident."""
    facts = StatusFacts(True, TTL, NOW, Rate(10, 0), baseline=BaselineState.FROZEN, worst=worst)

    assert endpoint_status(facts, NOW) is status


def test_below_the_gate_is_failing_without_any_incident() -> None:
    """An endpoint that never met the gate has not degraded, but is failing."""
    facts = StatusFacts(True, TTL, NOW, Rate(10, 4), baseline=BaselineState.FROZEN, below_gate=True)

    assert endpoint_status(facts, NOW) is Status.FAILING


@pytest.mark.parametrize(
    ("enabled", "ended", "rate", "status"),
    [
        (True, NOW - 9 * TTL, Rate(10, 0), Status.DEGRADED),
        (True, NOW, None, Status.DEGRADED),
        (False, NOW, Rate(10, 0), Status.OFF),
        (True, None, None, Status.WAITING),
    ],
)
def test_an_open_incident_outlasts_silence(
    enabled: bool, ended: datetime | None, rate: Rate | None, status: Status
) -> None:
    """Old or missing verdicts end no incident; an endpoint that is off is off."""
    facts = StatusFacts(enabled, TTL, ended, rate, baseline=BaselineState.FROZEN, worst=Severity.S1)

    assert endpoint_status(facts, NOW) is status
