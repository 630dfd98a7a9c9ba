"""F2: the broker is flushed, stopped for a while, and comes back."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


def test_runs_finish_whatever_happens_to_the_broker(stack: Stack) -> None:
    """Each run finishes once while the broker is flushed, goes down and comes back."""
    stack.wake(3)
    stack.worker("worker")
    eventually(lambda: stack.value("SELECT count(*) FROM dashboard_attempt") >= 2)

    stack.servers.flush()
    eventually(lambda: stack.all_finished(3), what="finished though the doorbells were lost")
    stack.servers.valkey.kill()
    try:
        stack.wake(1)
        eventually(lambda: stack.all_finished(4), what="finished without a broker")
    finally:
        stack.servers.valkey.start()
    stack.wake(1)
    eventually(lambda: stack.all_finished(5), what="finished with the broker back")

    assert violations(stack.url) == []
