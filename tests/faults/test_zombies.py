"""F7: a worker freezes past its lease and comes back."""

from __future__ import annotations

import signal
from typing import Protocol

import pytest

from tests.faults import database_faults
from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


class SlowDown(Protocol):
    def __call__(self, stack: Stack, *, seconds: float) -> None: ...


def test_a_zombie_writes_nothing_and_stops_sending(stack: Stack) -> None:
    """After SIGSTOP past its lease and SIGCONT, its writes are refused and its calls end."""
    (name,) = stack.wake(1, milliseconds=150)
    zombie = stack.worker("zombie")
    eventually(lambda: stack.attempts() >= 2)
    zombie.signal(signal.SIGSTOP)
    token = stack.value("SELECT lease_token FROM dashboard_run")

    stack.worker("other")
    eventually(lambda: stack.all_finished(1))
    written = stack.sql("SELECT count(*) FROM dashboard_attempt WHERE token = %s", token)
    figures = stack.sql("SELECT * FROM dashboard_runmetric ORDER BY metric")
    requests_before = len(stack.vendor.requests(name))
    zombie.signal(signal.SIGCONT)
    eventually(lambda: zombie.has_logged("lease lost"))

    # One request in flight, and one that started before the first refusal arrived.
    assert len(stack.vendor.requests(name)) <= requests_before + 2
    assert stack.sql("SELECT count(*) FROM dashboard_attempt WHERE token = %s", token) == written
    assert stack.sql("SELECT * FROM dashboard_runmetric ORDER BY metric") == figures
    assert stack.all_finished(1)
    assert violations(stack.url) == []


@pytest.mark.parametrize(
    "slow_down", [database_faults.slow_down_record, database_faults.slow_down_finish]
)
def test_a_zombie_inside_a_transaction_does_not_block_others(
    stack: Stack, slow_down: SlowDown
) -> None:
    """A worker frozen between two statements keeps its locks no longer than a lease."""
    slow_down(stack, seconds=1)
    stack.wake(2, milliseconds=5)
    zombie = stack.worker("zombie")
    eventually(lambda: database_faults.is_slowed(stack))
    zombie.signal(signal.SIGSTOP)

    stack.worker("other")
    eventually(lambda: stack.all_finished(2))
    zombie.signal(signal.SIGCONT)

    assert violations(stack.url) == []
