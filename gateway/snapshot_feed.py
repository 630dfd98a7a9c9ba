"""Keeps the snapshot current: notified by Postgres, polled, and re-read after every connect.

Without Postgres the last snapshot stays in use and ages. A sealed copy on disk serves a process
that starts meanwhile.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import structlog
from asgiref.sync import sync_to_async
from django.db import DatabaseError, close_old_connections

from dashboard.core import encryption
from dashboard.core.errors import Refused
from dashboard.live import snapshot as snapshots
from dashboard.live.snapshot import Snapshot
from dashboard.trust.policies import CHANNEL
from probes.secret import Secret

log = structlog.get_logger()

POLL_S = 4.0
RECONNECT_S = 2.0
# A policy that could not be read again for this long is applied in its most careful form.
CONSERVATIVE_AFTER = timedelta(minutes=15)
REFUSED_AFTER = timedelta(hours=24)
_BOUND_TO = b"gateway snapshot"


class SnapshotFeed:
    """The current snapshot of one process."""

    def __init__(
        self,
        copy: Path,
        connect: Callable[[], dict[str, Any]],
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.current: Snapshot | None = None
        self._copy = copy
        self._connect = connect
        self._clock = clock
        self._confirmed_at = clock()
        self._changed = asyncio.Event()

    @property
    def age(self) -> timedelta:
        """The time since the database last confirmed the snapshot."""
        return self._clock() - self._confirmed_at

    async def start(self) -> None:
        """Read the first snapshot: from the database, else from the sealed copy."""
        if not await self._refresh():
            self.current, self._confirmed_at = await asyncio.to_thread(self._load_copy)

    async def follow(self) -> None:
        """Refresh the snapshot until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen())
            tasks.create_task(self._poll())

    async def _poll(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._changed.wait()
            self._changed.clear()
            await self._refresh()

    async def _listen(self) -> None:
        while True:
            try:
                await self._forward_notices()
            except (psycopg.Error, OSError) as exc:
                log.warning("not listening to Postgres, polling", error=str(exc))
            await asyncio.sleep(RECONNECT_S)

    async def _forward_notices(self) -> None:
        connection = await psycopg.AsyncConnection.connect(**self._connect(), autocommit=True)
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            # What was sent while nobody listened is lost.
            self._changed.set()
            async for _ in connection.notifies():
                self._changed.set()

    async def _refresh(self) -> bool:
        """Read the snapshot if it changed; False if the database does not answer."""
        known = self.current.mark if self.current else ""
        started = self._clock()
        try:
            fresh = await sync_to_async(_read_if_changed)(known)
        except DatabaseError as exc:
            log.warning("Postgres does not answer, the snapshot ages", error=str(exc))
            return False
        self._confirmed_at = started
        if fresh is not None:
            self.current = fresh
            await asyncio.to_thread(self._save_copy, fresh)
        return True

    def _save_copy(self, snapshot: Snapshot) -> None:
        text = snapshots.snapshot_to_json(snapshot)
        draft = self._copy.with_suffix(f".{os.getpid()}")
        try:
            draft.write_bytes(encryption.encrypt_secret(Secret(text), _BOUND_TO))
            draft.chmod(0o600)
            draft.replace(self._copy)
        except OSError as exc:
            log.warning("no copy of the snapshot", error=str(exc))

    def _load_copy(self) -> tuple[Snapshot | None, datetime]:
        try:
            text = encryption.decrypt_secret(self._copy.read_bytes(), _BOUND_TO).reveal()
        except (OSError, Refused) as exc:
            log.warning("no snapshot: neither Postgres nor a copy", error=str(exc))
            return None, self._clock()
        snapshot = snapshots.snapshot_from_json(text)
        return snapshot, datetime.fromtimestamp(self._copy.stat().st_mtime, UTC)


def _read_if_changed(known: str) -> Snapshot | None:
    try:
        return None if snapshots.read_mark() == known else snapshots.read_snapshot()
    finally:
        close_old_connections()
