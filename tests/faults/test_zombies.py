"""F7: a worker stands still past its lease and comes back."""

from __future__ import annotations

import signal
from typing import Protocol

import pytest

from tests.faults import database_faults
from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


class Slower(Protocol):
    def __call__(self, stack: Stack, *, seconds: float) -> None: ...


def test_a_zombie_writes_nothing_and_stops_asking(stack: Stack) -> None:
    """SIGSTOP past the lease, SIGCONT: its writes are refused and its calls end."""
    (name,) = stack.wake(1, milliseconds=150)
    zombie = stack.worker("zombie")
    eventually(lambda: stack.attempts() >= 2)
    zombie.signal(signal.SIGSTOP)
    token = stack.value("SELECT lease_token FROM dashboard_run")

    stack.worker("other")
    eventually(lambda: stack.all_finished(1))
    written = stack.sql("SELECT count(*) FROM dashboard_attempt WHERE token = %s", token)
    figures = stack.sql("SELECT * FROM dashboard_runmetric ORDER BY metric")
    asked = len(stack.vendor.asked(name))
    zombie.signal(signal.SIGCONT)
    eventually(lambda: zombie.said("lease lost"))

    # One that was under way, and one that began before the first refusal was heard.
    assert len(stack.vendor.asked(name)) <= asked + 2
    assert stack.sql("SELECT count(*) FROM dashboard_attempt WHERE token = %s", token) == written
    assert stack.sql("SELECT * FROM dashboard_runmetric ORDER BY metric") == figures
    assert stack.all_finished(1)
    assert violations(stack.url) == []


@pytest.mark.parametrize("slower", [database_faults.slower_record, database_faults.slower_finish])
def test_a_zombie_inside_a_transaction_holds_up_nobody(stack: Stack, slower: Slower) -> None:
    """Frozen between two statements, it keeps its locks no longer than a lease."""
    slower(stack, seconds=1)
    stack.wake(2, milliseconds=5)
    zombie = stack.worker("zombie")
    eventually(lambda: database_faults.is_slowed(stack))
    zombie.signal(signal.SIGSTOP)

    stack.worker("other")
    eventually(lambda: stack.all_finished(2))
    zombie.signal(signal.SIGCONT)

    assert violations(stack.url) == []
