"""When a fault acts: from, until, ramp, repetition, probability, seed."""

from __future__ import annotations

import pytest

from simulators.clock import Clock
from simulators.faults.fault_schedule import FaultSchedule


@pytest.mark.parametrize(
    ("schedule", "now", "share"),
    [
        (FaultSchedule(), 0, 1),
        (FaultSchedule(p=0.3), 5, 0.3),
        (FaultSchedule(start=60), 59, 0),
        (FaultSchedule(start=60), 60, 1),
        (FaultSchedule(end=60), 59, 1),
        (FaultSchedule(end=60), 60, 0),
        (FaultSchedule(p=0.6, start=100, ramp=200), 100, 0),
        (FaultSchedule(p=0.6, start=100, ramp=200), 200, 0.3),
        (FaultSchedule(p=0.6, start=100, ramp=200), 900, 0.6),
        (FaultSchedule(every=100, lasts=20), 19, 1),
        (FaultSchedule(every=100, lasts=20), 20, 0),
        (FaultSchedule(every=100, lasts=20), 110, 1),
        (FaultSchedule(start=50, every=100, lasts=20), 140, 0),
        (FaultSchedule(start=50, every=100, lasts=20), 160, 1),
    ],
)
def test_the_share_of_affected_answers_follows_the_schedule(
    schedule: FaultSchedule, now: float, share: float
) -> None:
    """Start, end, ramp and period each change the share."""
    assert schedule.share(now) == pytest.approx(share)


def test_the_same_keys_give_the_same_result_unless_the_seed_changes() -> None:
    """A run can be repeated, and another seed gives another run."""
    keys = [f"question {number}" for number in range(400)]
    first = [FaultSchedule(p=0.4, seed=1).acts(0, key) for key in keys]

    assert first == [FaultSchedule(p=0.4, seed=1).acts(0, key) for key in keys]
    assert first != [FaultSchedule(p=0.4, seed=2).acts(0, key) for key in keys]
    assert 0.3 < sum(first) / len(first) < 0.5


def test_a_clock_runs_at_its_speed_and_can_be_advanced() -> None:
    """A clock multiplies its source by the speed and adds what it was advanced by."""
    seconds = [100.0]
    clock = Clock(speed=60, source=lambda: seconds[0])
    seconds[0] = 102.0
    assert clock.now() == 120
    clock.advance(1000)

    assert clock.now() == 1120
