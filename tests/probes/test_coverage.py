"""Intervals contain the true rate as often as they claim."""

from __future__ import annotations

import asyncio

from benchmarks.coverage import cover, share
from tests.extent import EXTENT


def test_intervals_hold_the_true_rate() -> None:
    """Vendors that fail randomly, measured again and again with fixed seeds.

    `python -m benchmarks.coverage` does the same in 200 runs.
    """
    checks = asyncio.run(cover(EXTENT.coverage_runs))

    assert share(checks) >= 0.95
    assert share([held for held in checks if held.by_chance]) >= 0.9
