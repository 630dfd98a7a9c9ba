from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from health.metrics import Rate
from health.status import Standing, Status, status_of

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
def test_the_last_rate_decides(failures: int, status: Status) -> None:
    """From 90 % on an endpoint is healthy, under 50 % it is failing."""
    standing = Standing(True, TTL, NOW - TTL, Rate(10, failures))

    assert status_of(standing, NOW) is status


@pytest.mark.parametrize(
    ("standing", "status"),
    [
        (Standing(True, TTL), Status.WAITING),
        (Standing(True, TTL, NOW), Status.NO_VERDICT),
        (Standing(True, TTL, NOW - 2 * TTL, Rate(5, 0)), Status.HEALTHY),
        (Standing(True, TTL, NOW - 2.01 * TTL, Rate(5, 0)), Status.STALE),
        (Standing(False, TTL, NOW, Rate(5, 0)), Status.OFF),
    ],
)
def test_without_a_fresh_rate_the_status_says_why(standing: Standing, status: Status) -> None:
    """Off, waiting, stale and without a verdict are told apart."""
    assert status_of(standing, NOW) is status
