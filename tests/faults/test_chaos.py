"""All faults at once, on a fleet that is always due."""

from __future__ import annotations

import pytest

from tests.extent import EXTENT
from tests.faults import database_faults
from tests.faults.chaos import POINTS, Chaos
from tests.faults.invariants import overdue, starved, violations
from tests.faults.row_watch import Watch
from tests.faults.stack import Stack, eventually

# Workers go on meanwhile; a recount looks only at what is rolled up.
ROLLUPS_ARE_RIGHT = """
from dashboard.core import partitions
from dashboard.runs import rollups
while rollups.roll_up():
    pass
found = rollups.recount_day(partitions.database_today())
assert not found, found[:5]
"""


@pytest.mark.timeout(600)  # it takes a minute where it has the machine to itself
def test_many_kills_lose_nothing_and_double_nothing(stack: Stack) -> None:
    """Kills, zombies, five beats, broker and database restarts: every invariant holds."""
    database_faults.faster_clock(stack)
    database_faults.slower_start(stack)
    database_faults.slower_finish(stack)
    servers = stack.servers
    stack.wake(24, milliseconds=20, at_once=2)
    chaos = Chaos(stack, seed=6)
    chaos.beats(2)
    eventually(lambda: "finished" in stack.states())

    with Watch(stack.url) as watch:
        # By the share of kills that come before.
        events = {
            0.05: servers.flush,
            0.12: chaos.freeze,
            0.20: chaos.kill_a_worker,
            0.28: lambda: chaos.beats(5),
            0.35: chaos.freeze,
            0.42: servers.valkey.kill,
            0.46: servers.valkey.start,
            0.55: chaos.kill_a_worker,
            0.62: chaos.freeze,
            0.70: servers.restart_postgres_at_once,
            0.80: servers.flush,
            0.85: chaos.kill_a_worker,
            0.92: chaos.freeze,
        }
        chaos.strike_until(EXTENT.kills, events)
        chaos.calm()
        quiet_since = stack.value("SELECT statement_timestamp()")
        eventually(lambda: not starved(stack.url, quiet_since), what="every endpoint finishes")
        eventually(lambda: not overdue(stack.url, seconds=1), what="no lease is left behind")

    stack.python(ROLLUPS_ARE_RIGHT)
    assert watch.found == []
    assert violations(stack.url) == []
    assert watch.looks > 10
    assert min(chaos.kills[point] for point in POINTS) >= EXTENT.kills // 9
