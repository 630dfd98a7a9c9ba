"""The invariants find the bug that they exist for."""

from __future__ import annotations

from tests.faults import database_faults
from tests.faults.invariants import starved, violations
from tests.faults.stack import Stack, eventually


def test_an_abandoned_run_that_keeps_the_due_time_is_found(stack: Stack) -> None:
    """If the due time does not move, the endpoint starves, and both checks report it."""
    database_faults.speed_up_clock(stack)
    database_faults.forget_due_time(stack)
    stack.sql("ALTER TABLE dashboard_run ALTER COLUMN max_claims SET DEFAULT 1")
    start = stack.value("SELECT statement_timestamp()")
    stack.wake(2, milliseconds=60)
    stack.worker("worker", env={"RUN_LEASE": "3s"})
    first = "SELECT min(id) FROM dashboard_run WHERE state = 'running'"
    eventually(lambda: stack.value(first) and stack.kill_owner(stack.value(first)))

    rounds = "SELECT count(*) FROM dashboard_run WHERE state = 'finished'"
    eventually(lambda: stack.value(rounds) >= 3)

    starved_endpoints, report = starved(stack.url, start), " ".join(violations(stack.url))
    assert starved_endpoints
    assert all(f"endpoint {endpoint} is still due" in report for endpoint in starved_endpoints)
