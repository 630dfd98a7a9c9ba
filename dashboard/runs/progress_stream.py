"""Progress of runs for everybody who watches, read by one query for all of a web process.

Twice a second, while somebody watches, one task asks for all watched runs at once and tells
whoever waits for one that moved. It ends when nobody is left. So the cost for the database depends
on how many web processes there are, not on how many people look.
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

EVERY_S = 0.5
HEARTBEAT_S = 15.0
# Each keeps a request open, and with it a thread of Django's that sleeps.
MOST_WATCHERS = 200


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a run has come."""

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


class Gone(Exception):
    """The run is not there any more."""


@dataclass(eq=False, slots=True)
class _Watcher:
    run_id: int
    # The newest standing only: whoever reads slowly skips what is old.
    news: asyncio.Queue[Standing | None]
    told: Standing | None = None

    def tell(self, standing: Standing | None) -> None:
        if standing is not None and standing == self.told:
            return
        self.told = standing
        if self.news.full():
            self.news.get_nowait()
        self.news.put_nowait(standing)


Read = Callable[[Collection[int]], Mapping[int, Standing]]


class Board:
    """The watchers of this process and the one task that reads for them."""

    def __init__(
        self,
        read: Read,
        *,
        every_s: float = EVERY_S,
        heartbeat_s: float = HEARTBEAT_S,
        most: int = MOST_WATCHERS,
    ) -> None:
        self._read = read
        self._every_s = every_s
        self._heartbeat_s = heartbeat_s
        self.most = most
        self._watchers: set[_Watcher] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        return len(self._watchers) >= self.most

    @property
    def is_reading(self) -> bool:
        return self._task is not None

    async def watch(self, run_id: int) -> AsyncGenerator[Standing | None]:
        """Each new standing of the run up to its end; None where nothing happened for a while."""
        watcher = _Watcher(run_id, asyncio.Queue(maxsize=1))
        self._watchers.add(watcher)
        if self._task is None:
            # A context of its own: it outlives the request that happened to come first.
            self._task = asyncio.create_task(self._keep_reading(), context=contextvars.Context())
        try:
            while True:
                standing = await self._next(watcher)
                yield standing
                if standing is not None and standing.has_ended:
                    return
        except Gone:
            return
        finally:
            self._watchers.discard(watcher)

    async def _next(self, watcher: _Watcher) -> Standing | None:
        try:
            async with asyncio.timeout(self._heartbeat_s):
                standing = await watcher.news.get()
        except TimeoutError:
            return None
        if standing is None:
            raise Gone
        return standing

    async def _keep_reading(self) -> None:
        try:
            while self._watchers:
                await self._read_once()
                await asyncio.sleep(self._every_s)
        finally:
            self._task = None
            # Nobody is left, unless reading broke down: then nobody may wait in vain.
            for watcher in self._watchers:
                watcher.tell(None)

    async def _read_once(self) -> None:
        wanted = {watcher.run_id for watcher in self._watchers}
        try:
            found = await asyncio.to_thread(self._read, wanted)
        except Error as exc:
            # The database will be back, or the watchers will leave.
            log.warning("progress not read", error=type(exc).__name__)
            return
        for watcher in self._watchers:
            if watcher.run_id in wanted:
                watcher.tell(found.get(watcher.run_id))


def standings(run_ids: Collection[int]) -> dict[int, Standing]:
    """Where runs stand, in one query."""
    try:
        found = fetch_rows(_STANDINGS, {"runs": list(run_ids)})
    finally:
        # The thread is borrowed; what it opened must go back.
        connection.close()
    return {run_id: Standing(*rest) for run_id, *rest in found}


# Outcomes are counted on the run when it ends with a verdict; before that, from its attempts.
_STANDINGS = """
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

board = Board(standings)
