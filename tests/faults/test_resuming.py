"""F1: a worker dies during a run; another one resumes it."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


def test_a_resumed_run_repeats_no_stored_attempt(stack: Stack) -> None:
    """SIGKILL during a run loses only requests in flight, no stored attempt."""
    (name,) = stack.wake(1, milliseconds=60)
    first = stack.worker("first")
    eventually(lambda: stack.attempts() >= 6)
    first.kill()
    before = stack.vendor.requests(name)

    stack.worker("second")
    eventually(lambda: stack.all_finished(1))

    after = stack.vendor.requests(name)[len(before) :]
    stored = stack.value(
        "SELECT count(*) FROM dashboard_attempt"
        " WHERE token = (SELECT min(token) FROM dashboard_attempt)"
    )
    repeated = {request.body for request in before} & {request.body for request in after}
    assert len(repeated) <= len({request.body for request in before}) - stored
    assert stack.sql("SELECT claims > 1, passed = planned FROM dashboard_run") == [(True, True)]
    assert violations(stack.url) == []
