"""F8: several workers receive the same wake-up message."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import PATIENT, Stack, eventually


def test_one_wake_up_received_by_two_workers_is_one_run(stack: Stack) -> None:
    """One worker claims the run, the other has nothing to do, and neither logs an error."""
    stack.wake(3)
    stack.python("from workers.probing import run_scheduler_pass; run_scheduler_pass()")
    with stack.servers.broker() as broker:
        doorbells = broker.lrange("celery", 0, -1)
        assert doorbells
        for _ in range(4):
            broker.rpush("celery", *doorbells)

    workers = [stack.worker(name, concurrency=2, env=PATIENT) for name in ("one", "two")]
    eventually(lambda: stack.all_finished(3))
    eventually(lambda: not stack.servers.broker().llen("celery"))

    assert stack.sql("SELECT DISTINCT claims FROM dashboard_run") == [(1,)]
    assert not any(worker.has_logged('"level": "error"') for worker in workers)
    assert violations(stack.url) == []
