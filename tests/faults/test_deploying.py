"""F6: workers are replaced during runs, and old and new ones run in parallel."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually

OTHER = "of another release"


def test_a_terminated_worker_loses_no_run(stack: Stack) -> None:
    """After SIGTERM a run ends or is resumed, and the next worker does the rest."""
    stack.wake(3, milliseconds=100)
    old = stack.worker("old")
    # Of any run.
    eventually(lambda: stack.value("SELECT count(*) FROM dashboard_attempt") >= 2)

    old.terminate()
    assert old.wait() == 0
    unfinished = [state for state in stack.states() if state != "finished"]
    stack.worker("new")
    eventually(lambda: stack.all_finished(3))

    assert unfinished
    assert violations(stack.url) == []


def test_a_worker_never_runs_a_suite_that_it_does_not_have(stack: Stack) -> None:
    """A run of another version waits as long as a worker of that version exists."""
    stack.wake(2)
    stack.python("from workers.probing import run_scheduler_pass; run_scheduler_pass()")
    stack.sql("UPDATE dashboard_run SET suite_version = %s WHERE id = 1", OTHER)
    stack.sql("INSERT INTO dashboard_worker (name, suite_version) VALUES ('old:1', %s)", OTHER)
    waiting = "SELECT claims, state FROM dashboard_run WHERE id = 1"

    stack.worker("worker")
    eventually(lambda: "finished" in stack.states())
    before = stack.sql(waiting)
    stack.sql("DELETE FROM dashboard_worker WHERE name = 'old:1'")
    eventually(lambda: stack.states() == ["abandoned", "finished", "finished"])

    assert before == [(0, "queued")]
    assert stack.sql(waiting) == [(0, "abandoned")]
    assert "superseded" in stack.value("SELECT reason FROM dashboard_run WHERE id = 1")
    assert stack.sql("SELECT 1 FROM dashboard_attempt WHERE run_id = 1") == []
    assert violations(stack.url) == []
