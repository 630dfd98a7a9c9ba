"""F9: a run that kills every worker process that claims it."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


def test_a_run_that_kills_its_workers_is_abandoned(stack: Stack) -> None:
    """The run is abandoned after its last allowed claim, and other runs finish."""
    stack.sql("ALTER TABLE dashboard_run ALTER COLUMN max_claims SET DEFAULT 3")
    stack.wake(5, milliseconds=60)
    workers = {name: stack.worker(name, concurrency=2) for name in ("one", "two")}

    def kill_owner_until_abandoned() -> bool:
        rows = stack.sql(
            "SELECT r.id, r.state FROM dashboard_run r"
            " JOIN dashboard_endpoint e ON e.id = r.endpoint_id WHERE e.slug = 'e0'"
        )
        for run, state in rows:
            if state in ("leased", "running"):
                stack.kill_owner(run)
        # If no wake-up arrived in time, a timer claimed the run, and its worker was killed.
        for name in [name for name, worker in workers.items() if not worker.is_up()]:
            workers[name] = stack.worker(name, concurrency=2)
        return [state for _, state in rows] == ["abandoned"]

    eventually(kill_owner_until_abandoned, what="the poisoned run is given up")
    eventually(lambda: stack.states().count("finished") == 4)

    is_waiting = (
        "SELECT next_due_at > statement_timestamp() FROM dashboard_endpoint WHERE slug = 'e0'"
    )
    given_up = "SELECT claims, reason <> '' FROM dashboard_run WHERE state = 'abandoned'"
    assert stack.sql(given_up) == [(3, True)]
    assert stack.value(is_waiting)
    assert violations(stack.url) == []
