"""F8: several workers hear the same doorbell."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import PATIENT, Stack, eventually


def test_one_doorbell_heard_by_two_is_one_run(stack: Stack) -> None:
    """One claims the run, the other finds nothing to do, and neither reports an error."""
    stack.wake(3)
    stack.python("from workers.probing import run_scheduler_pass; run_scheduler_pass()")
    with stack.servers.broker() as broker:
        rung = broker.lrange("celery", 0, -1)
        assert rung
        for _ in range(4):
            broker.rpush("celery", *rung)

    workers = [stack.worker(name, concurrency=2, env=PATIENT) for name in ("one", "two")]
    eventually(lambda: stack.all_finished(3))
    eventually(lambda: not stack.servers.broker().llen("celery"))

    assert stack.sql("SELECT DISTINCT claims FROM dashboard_run") == [(1,)]
    assert not any(worker.said('"level": "error"') for worker in workers)
    assert violations(stack.url) == []
