"""F1: a worker dies in the middle of a run; another goes on where it stopped."""

from __future__ import annotations

from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually


def test_a_resumed_run_asks_nothing_again_that_is_stored(stack: Stack) -> None:
    """SIGKILL in the middle of a run costs the questions under way, and no stored one."""
    (name,) = stack.wake(1, milliseconds=60)
    first = stack.worker("first")
    eventually(lambda: stack.attempts() >= 6)
    first.kill()
    before = stack.vendor.asked(name)

    stack.worker("second")
    eventually(lambda: stack.all_finished(1))

    after = stack.vendor.asked(name)[len(before) :]
    stored = stack.value(
        "SELECT count(*) FROM dashboard_attempt"
        " WHERE token = (SELECT min(token) FROM dashboard_attempt)"
    )
    repeated = {asked.body for asked in before} & {asked.body for asked in after}
    assert len(repeated) <= len({asked.body for asked in before}) - stored
    assert stack.sql("SELECT claims > 1, passed = planned FROM dashboard_run") == [(True, True)]
    assert violations(stack.url) == []
