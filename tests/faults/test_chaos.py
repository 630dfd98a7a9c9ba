"""All faults combined, on a fleet that is always due."""

from __future__ import annotations

import pytest

from tests.extent import EXTENT
from tests.faults import database_faults
from tests.faults.chaos import POINTS, Chaos
from tests.faults.invariants import overdue, starved, violations
from tests.faults.row_watch import Watch
from tests.faults.stack import Stack, eventually

# Workers keep running meanwhile; a recount covers only rows that are rolled up.
ROLLUPS_ARE_RIGHT = """
from dashboard.core import partitions
from dashboard.runs import rollups
while rollups.roll_up():
    pass
mismatches = rollups.recount_day(partitions.database_today())
assert not mismatches, mismatches[:5]
"""


@pytest.mark.timeout(600)  # takes a minute on an idle machine
def test_many_kills_lose_and_duplicate_nothing(stack: Stack) -> None:
    """Kills, zombies, five beats, broker and database restarts: every invariant holds."""
    database_faults.speed_up_clock(stack)
    database_faults.slow_down_start(stack)
    database_faults.slow_down_finish(stack)
    servers = stack.servers
    stack.wake(24, milliseconds=20, at_once=2)
    chaos = Chaos(stack, seed=6)
    chaos.start_beats(2)
    eventually(lambda: "finished" in stack.states())

    with Watch(stack.url) as watch:
        # By the share of kills before each event.
        events = {
            0.05: servers.flush,
            0.12: chaos.freeze,
            0.20: chaos.kill_worker,
            0.28: lambda: chaos.start_beats(5),
            0.35: chaos.freeze,
            0.42: servers.valkey.kill,
            0.46: servers.valkey.start,
            0.55: chaos.kill_worker,
            0.62: chaos.freeze,
            0.70: servers.restart_postgres_at_once,
            0.80: servers.flush,
            0.85: chaos.kill_worker,
            0.92: chaos.freeze,
        }
        chaos.kill_until(EXTENT.kills, events)
        chaos.recover()
        quiet_since = stack.value("SELECT statement_timestamp()")
        eventually(lambda: not starved(stack.url, quiet_since), what="every endpoint finishes")
        eventually(lambda: not overdue(stack.url, seconds=1), what="no lease is left behind")

    stack.python(ROLLUPS_ARE_RIGHT)
    assert watch.violations == []
    assert violations(stack.url) == []
    assert watch.samples > 10
    assert min(chaos.kills[point] for point in POINTS) >= EXTENT.kills // 9
