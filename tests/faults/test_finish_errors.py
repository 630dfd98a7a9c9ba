"""F11: the finishing transaction itself fails."""

from __future__ import annotations

import pytest

from tests.faults import database_faults
from tests.faults.invariants import violations
from tests.faults.stack import Stack, eventually

DISK_FULL, SERIALIZATION, UNIQUE = "53100", "40001", "23505"


@pytest.mark.parametrize("broker", ["with a broker", "without a broker"])
def test_a_failed_finish_leaves_nothing_and_is_retried(stack: Stack, broker: str) -> None:
    """A finish that fails by a database error leaves nothing and is repeated."""
    env = {} if broker == "with a broker" else {"REDIS_URL": "redis://127.0.0.1:1/0"}
    database_faults.make_finish_fail(stack, [DISK_FULL, SERIALIZATION, UNIQUE])
    stack.wake(2, milliseconds=5)
    stack.worker("worker", env=env)

    seen_violations: list[str] = []

    def check_until_finished() -> bool:
        seen_violations.extend(violations(stack.url))
        return stack.all_finished(2)

    eventually(check_until_finished)

    assert stack.value("SELECT last_value FROM failures_made") > 3
    assert stack.value("SELECT sum(claims) FROM dashboard_run") >= 5
    assert seen_violations == []
    assert violations(stack.url) == []
