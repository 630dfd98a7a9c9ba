"""F3: Postgres crashes while a run is being finished."""

from __future__ import annotations

from tests.faults import database_faults
from tests.faults.invariants import overdue, violations
from tests.faults.stack import Stack, eventually


def test_a_crash_inside_the_finishing_transaction_leaves_no_partial_result(stack: Stack) -> None:
    """Sessions are cut during the finish, and the workers recover by themselves."""
    database_faults.slow_down_finish(stack, seconds=0.6)
    stack.wake(4, milliseconds=10)
    worker = stack.worker("worker", concurrency=2)
    eventually(lambda: database_faults.is_slowed(stack))

    stack.servers.restart_postgres_at_once()
    cut_short = stack.value("SELECT count(*) FROM dashboard_run WHERE state <> 'finished'")
    eventually(lambda: stack.all_finished(4))

    assert cut_short > 0
    assert worker.is_up()
    assert overdue(stack.url, seconds=0) == []
    assert violations(stack.url) == []
