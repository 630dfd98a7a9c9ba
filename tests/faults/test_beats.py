"""F4: no beat at all. The chaos test has up to five."""

from __future__ import annotations

from tests.faults import database_faults
from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


def test_without_a_beat_the_workers_keep_the_schedule(stack: Stack) -> None:
    """Without a beat the workers' timers keep probing each endpoint."""
    database_faults.speed_up_clock(stack)
    names = stack.wake(2, milliseconds=5)
    stack.worker("worker")

    rounds = "SELECT count(*) FROM dashboard_run WHERE state = 'finished' GROUP BY endpoint_id"
    eventually(lambda: [row[0] >= 2 for row in stack.sql(rounds)] == [True] * len(names))

    assert violations(stack.url) == []
