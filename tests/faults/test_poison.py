"""F9: a run that kills every worker process that takes it."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


def test_a_run_that_kills_its_workers_is_given_up(stack: Stack) -> None:
    """After as many claims as it may have it is abandoned; the others do not notice."""
    stack.sql("ALTER TABLE dashboard_run ALTER COLUMN max_claims SET DEFAULT 3")
    stack.wake(5, milliseconds=60)
    workers = {name: stack.worker(name, concurrency=2) for name in ("one", "two")}

    def poisoned() -> bool:
        rows = stack.sql(
            "SELECT r.id, r.state FROM dashboard_run r"
            " JOIN dashboard_endpoint e ON e.id = r.endpoint_id WHERE e.slug = 'e0'"
        )
        for run, state in rows:
            if state in ("leased", "running"):
                stack.kill_owner(run)
        # Where nobody heard a doorbell in time, a timer took the run, and its worker went with it.
        for name in [name for name, worker in workers.items() if not worker.is_up()]:
            workers[name] = stack.worker(name, concurrency=2)
        return [state for _, state in rows] == ["abandoned"]

    eventually(poisoned, what="the poisoned run is given up")
    eventually(lambda: stack.states().count("finished") == 4)

    waits = "SELECT next_due_at > statement_timestamp() FROM dashboard_endpoint WHERE slug = 'e0'"
    given_up = "SELECT claims, reason <> '' FROM dashboard_run WHERE state = 'abandoned'"
    assert stack.sql(given_up) == [(3, True)]
    assert stack.value(waits)
    assert violations(stack.url) == []
