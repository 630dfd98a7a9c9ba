"""Kills processes repeatedly, each time at another point of a run, and breaks servers."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import LiteralString

from tests.faults.processes import ProcessGroup, signal_one
from tests.faults.stack import LEASE_SECONDS, Stack, eventually

WORKERS = ("one", "two")
POINTS = ("leased", "running", "finishing")
PAUSE_SECONDS, WAIT_SECONDS = 0.05, 0.35
# A waiting run stays with the pool for a while: killing a process of a pool takes less time than
# killing a worker that executes a run itself, which has to be restarted.
SLOW_TIMERS = {"RUN_RING_AGAIN": "5s", "SCHEDULE_EVERY": "0.8s"}


class Chaos:
    """Workers and beats on a stack, and the faults that break them."""

    def __init__(self, stack: Stack, *, seed: int) -> None:
        self.stack = stack
        self.kills: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._workers = {name: self._start_worker(name) for name in WORKERS}
        self._beats = 0
        self._frozen: list[tuple[float, int]] = []

    def start_beats(self, number: int) -> None:
        """Start beats until there are that many."""
        while self._beats < number:
            self._beats += 1
            self.stack.beat(f"beat{self._beats}", env={"SCHEDULE_EVERY": "2s"})

    def kill_until(self, number: int, events: Mapping[float, Callable[[], None]]) -> None:
        """Kill that often, and at every point at least a ninth of it; events run at their share."""
        pending = dict(events)
        while (done := self.kills.total()) < number or self._fewest_kills() < number // 9:
            for share_due in [share for share in pending if share * number <= done]:
                pending.pop(share_due)()
            self._resume_frozen()
            self._restart_dead_workers()
            self._kill_process()

    def recover(self) -> None:
        """Stop breaking things: resume frozen processes and restart dead workers."""
        eventually(self._resume_frozen)
        self._restart_dead_workers()

    def freeze(self) -> None:
        """SIGSTOP a working process until its lease has expired: it comes back as a zombie."""
        for point, owner in self._find_leases():
            if point == "running" and (pid := signal_one(owner, signal.SIGSTOP, self.stack.groups)):
                self._frozen.append((time.monotonic() + LEASE_SECONDS * 1.5, pid))
                return

    def kill_worker(self) -> None:
        """SIGKILL a worker with its pool at any point; it is restarted."""
        self._workers[self._rng.choice(WORKERS)].kill()
        self.kills["whole worker"] += 1

    def _fewest_kills(self) -> int:
        return min(self.kills[point] for point in POINTS)

    def _kill_process(self) -> None:
        """Kill a working process, at the least killed point if a run gets there in time."""
        # Without a pause between kills no run would make progress.
        time.sleep(PAUSE_SECONDS)
        rarest = min(POINTS, key=lambda point: self.kills[point])
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            if self._kill_at([rarest]):
                return
            time.sleep(0.02)
        self._kill_at(POINTS)

    def _kill_at(self, points: Sequence[str]) -> bool:
        leases = [lease for lease in self._find_leases() if lease[0] in points]
        self._rng.shuffle(leases)
        for point, owner in leases:
            if signal_one(owner, signal.SIGKILL, self.stack.groups):
                self.kills[point] += 1
                return True
        return False

    def _find_leases(self) -> list[tuple[str, str]]:
        """The point and the lease owner of every run that is being worked on."""
        return [(point, owner) for point, owner in self.stack.sql(_LEASES)]

    def _restart_dead_workers(self) -> None:
        """Restart dead workers, as a supervisor does."""
        for name, group in self._workers.items():
            if not group.is_up():
                group.end()
                self._workers[name] = self._start_worker(name)

    def _resume_frozen(self) -> bool:
        """Resume processes that were frozen long enough; True if none is frozen now."""
        now = time.monotonic()
        for _, pid in [frozen for frozen in self._frozen if frozen[0] <= now]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._frozen = [frozen for frozen in self._frozen if frozen[0] > now]
        return not self._frozen

    def _start_worker(self, name: str) -> ProcessGroup:
        return self.stack.worker(name, concurrency=3, env=SLOW_TIMERS)


# A run counts as running once this lease stored an attempt, and as finishing while the slowed
# transaction holds its advisory lock; between these points no process is killed.
_LEASES: LiteralString = """
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
