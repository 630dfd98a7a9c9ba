"""Streams the progress of runs to all watchers of a web process with one query.

Twice a second, while there are watchers, one task reads all watched runs in one query and sends
the snapshots that changed. It stops when the last watcher leaves. The load on the database depends
on the number of web processes, not on the number of watchers.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from dataclasses import asdict, dataclass

import structlog
from django.db import Error, connection

from dashboard.core.sql import fetch_rows
from dashboard.models.run import ENDED

log = structlog.get_logger()

POLL_INTERVAL_S = 0.5
HEARTBEAT_S = 15.0
# Each watcher keeps a request open, and with it an idle thread of Django.
MAX_WATCHERS = 200


@dataclass(frozen=True, slots=True)
class ProgressSnapshot:
    state: str
    done: int
    planned: int
    passed: int
    failed: int
    void: int

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class RunGone(Exception):
    """The watched run no longer exists."""


@dataclass(eq=False, slots=True)
class _Watcher:
    run_id: int
    # Holds the newest snapshot only: a slow reader skips the older ones.
    queue: asyncio.Queue[ProgressSnapshot | None]
    last_sent: ProgressSnapshot | None = None

    def send(self, snapshot: ProgressSnapshot | None) -> None:
        if snapshot is not None and snapshot == self.last_sent:
            return
        self.last_sent = snapshot
        if self.queue.full():
            self.queue.get_nowait()
        self.queue.put_nowait(snapshot)


SnapshotReader = Callable[[Collection[int]], Mapping[int, ProgressSnapshot]]


class ProgressBroadcaster:
    """The watchers of this process and the task that polls for them."""

    def __init__(
        self,
        read: SnapshotReader,
        *,
        interval_s: float = POLL_INTERVAL_S,
        heartbeat_s: float = HEARTBEAT_S,
        max_watchers: int = MAX_WATCHERS,
    ) -> None:
        self._read = read
        self._interval_s = interval_s
        self._heartbeat_s = heartbeat_s
        self.max_watchers = max_watchers
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        return len(self._watchers) >= self.max_watchers

    @property
    def is_polling(self) -> bool:
        return self._task is not None

    async def watch(self, run_id: int) -> AsyncGenerator[ProgressSnapshot | None]:
        """Each new snapshot of the run until it ends; None as a heartbeat."""
        watcher = _Watcher(run_id, asyncio.Queue(maxsize=1))
        self._watchers.add(watcher)
        if self._task is None:
            # A separate context: the task outlives the request that started it.
            self._task = asyncio.create_task(self._poll(), context=contextvars.Context())
        try:
            while True:
                snapshot = await self._next_snapshot(watcher)
                yield snapshot
                if snapshot is not None and snapshot.has_ended:
                    return
        except RunGone:
            return
        finally:
            self._watchers.discard(watcher)

    async def _next_snapshot(self, watcher: _Watcher) -> ProgressSnapshot | None:
        try:
            async with asyncio.timeout(self._heartbeat_s):
                snapshot = await watcher.queue.get()
        except TimeoutError:
            return None
        if snapshot is None:
            raise RunGone
        return snapshot

    async def _poll(self) -> None:
        try:
            while self._watchers:
                await self._poll_once()
                await asyncio.sleep(self._interval_s)
        finally:
            self._task = None
            # Watchers are left only if polling failed; end their streams.
            for watcher in self._watchers:
                watcher.send(None)

    async def _poll_once(self) -> None:
        run_ids = {watcher.run_id for watcher in self._watchers}
        try:
            snapshots = await asyncio.to_thread(self._read, run_ids)
        except Error as exc:
            # Retried until the database is back or the watchers leave.
            log.warning("progress not read", error=type(exc).__name__)
            return
        for watcher in self._watchers:
            if watcher.run_id in run_ids:
                watcher.send(snapshots.get(watcher.run_id))


def read_snapshots(run_ids: Collection[int]) -> dict[int, ProgressSnapshot]:
    """The current progress of runs, in one query."""
    try:
        rows = fetch_rows(_SNAPSHOTS, {"runs": list(run_ids)})
    finally:
        # The thread belongs to a pool and must not keep its connection open.
        connection.close()
    return {run_id: ProgressSnapshot(*rest) for run_id, *rest in rows}


# A run has its outcome counts once it ended with a verdict; before that they come from attempts.
_SNAPSHOTS = """
SELECT r.id, r.state, r.done, r.planned,
    r.passed + a.passed, r.failed + a.failed, r.void + a.void
FROM dashboard_run r, LATERAL (
    SELECT count(*) FILTER (WHERE outcome = 'pass') AS passed,
        count(*) FILTER (WHERE outcome = 'fail') AS failed,
        count(*) FILTER (WHERE outcome = 'void') AS void
    FROM dashboard_attempt WHERE run_id = r.id AND run_at = r.created_at
        AND r.state NOT IN ('finished', 'failed')) a
WHERE r.id = ANY(%(runs)s)
"""

broadcaster = ProgressBroadcaster(read_snapshots)
