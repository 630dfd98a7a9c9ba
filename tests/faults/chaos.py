"""Kills again and again, each time at another point of a run, and breaks the servers between."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import LiteralString

from tests.faults.processes import Group, signal_one
from tests.faults.stack import LEASE_SECONDS, Stack, eventually

WORKERS = ("one", "two")
POINTS = ("leased", "running", "finishing")
BREATH, PATIENCE = 0.05, 0.35
# A run that waits is left to the pool for a while: to kill a process of a pool takes less time
# than to kill a worker that carries a run out itself, since that is to be started again.
UNHURRIED = {"RUN_RING_AGAIN": "5s", "SCHEDULE_EVERY": "0.8s"}


class Chaos:
    """Workers and beats on a stack, and somebody who breaks them."""

    def __init__(self, stack: Stack, *, seed: int) -> None:
        self.stack = stack
        self.kills: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._workers = {name: self._worker(name) for name in WORKERS}
        self._beats = 0
        self._frozen: list[tuple[float, int]] = []

    def beats(self, number: int) -> None:
        """Bring the number of beats up to this."""
        while self._beats < number:
            self._beats += 1
            self.stack.beat(f"beat{self._beats}", env={"SCHEDULE_EVERY": "2s"})

    def strike_until(self, number: int, events: Mapping[float, Callable[[], None]]) -> None:
        """Kill so often, and at every point a ninth of that; events come after their share."""
        waiting = dict(events)
        while (done := self.kills.total()) < number or self._fewest() < number // 9:
            for due in [share for share in waiting if share * number <= done]:
                waiting.pop(due)()
            self._thaw()
            self._revive()
            self._strike()

    def calm(self) -> None:
        """No more faults: what is frozen goes on, what is dead is started."""
        eventually(self._thaw)
        self._revive()

    def freeze(self) -> None:
        """SIGSTOP a process at work until its lease is over: it comes back as a zombie."""
        for point, owner in self._at_work():
            if point == "running" and (pid := signal_one(owner, signal.SIGSTOP, self.stack.groups)):
                self._frozen.append((time.monotonic() + LEASE_SECONDS * 1.5, pid))
                return

    def kill_a_worker(self) -> None:
        """SIGKILL a worker with its pool at whatever point; it is started anew."""
        self._workers[self._rng.choice(WORKERS)].kill()
        self.kills["whole worker"] += 1

    def _fewest(self) -> int:
        return min(self.kills[point] for point in POINTS)

    def _strike(self) -> None:
        """Kill a process at work: at the point that was hit least, if a run gets there in time."""
        # A breath between two kills, or no run would ever get far.
        time.sleep(BREATH)
        wanted = min(POINTS, key=lambda point: self.kills[point])
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self._kill_at([wanted]):
                return
            time.sleep(0.02)
        self._kill_at(POINTS)

    def _kill_at(self, points: Sequence[str]) -> bool:
        at_work = [each for each in self._at_work() if each[0] in points]
        self._rng.shuffle(at_work)
        for point, owner in at_work:
            if signal_one(owner, signal.SIGKILL, self.stack.groups):
                self.kills[point] += 1
                return True
        return False

    def _at_work(self) -> list[tuple[str, str]]:
        """At which point each run is that somebody works on, and who that is."""
        return [(point, owner) for point, owner in self.stack.sql(_AT_WORK)]

    def _revive(self) -> None:
        """Start dead workers again, as whatever supervises them does."""
        for name, group in self._workers.items():
            if not group.is_up():
                group.end()
                self._workers[name] = self._worker(name)

    def _thaw(self) -> bool:
        """Let go on what was frozen for long enough; True where nobody is frozen now."""
        now = time.monotonic()
        for _, pid in [each for each in self._frozen if each[0] <= now]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._frozen = [each for each in self._frozen if each[0] > now]
        return not self._frozen

    def _worker(self, name: str) -> Group:
        return self.stack.worker(name, concurrency=3, env=UNHURRIED)


# A run counts as running once this lease stored an attempt, and as finishing while the slowed
# transaction holds its advisory lock; between these points nobody is struck.
_AT_WORK: LiteralString = """
SELECT point, lease_owner FROM (
    SELECT r.lease_owner, CASE
        WHEN r.state = 'leased' THEN 'leased'
        WHEN EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 6006
            AND objid = r.id::oid) THEN 'finishing'
        WHEN made.here > 0 AND made.total < r.planned THEN 'running' END AS point
    FROM dashboard_run r, LATERAL (
        SELECT count(*) AS total, count(*) FILTER (WHERE a.token = r.lease_token) AS here
        FROM dashboard_attempt a WHERE a.run_id = r.id AND a.run_at = r.created_at) AS made
    WHERE r.state IN ('leased', 'running')) AS work
WHERE point IS NOT NULL
"""
