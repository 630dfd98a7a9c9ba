"""The invariants would find the bug that they are there for."""

from __future__ import annotations

from tests.faults import database_faults
from tests.faults.invariants import starved, violations
from tests.faults.stack import Stack, eventually


def test_a_run_given_up_without_moving_the_due_time_is_found(stack: Stack) -> None:
    """With the move taken out, the endpoint starves, and both looks at the rows say so."""
    database_faults.faster_clock(stack)
    database_faults.forgotten_due_time(stack)
    stack.sql("ALTER TABLE dashboard_run ALTER COLUMN max_claims SET DEFAULT 1")
    begun = stack.value("SELECT statement_timestamp()")
    stack.wake(2, milliseconds=60)
    stack.worker("worker", env={"RUN_LEASE": "3s"})
    first = "SELECT min(id) FROM dashboard_run WHERE state = 'running'"
    eventually(lambda: stack.value(first) and stack.kill_owner(stack.value(first)))

    rounds = "SELECT count(*) FROM dashboard_run WHERE state = 'finished'"
    eventually(lambda: stack.value(rounds) >= 3)

    victims, found = starved(stack.url, begun), " ".join(violations(stack.url))
    assert victims
    assert all(f"endpoint {victim} is still due" in found for victim in victims)
