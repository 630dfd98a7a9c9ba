"""Keeps the lease of a run by a thread of its own: parsing a reply must not delay a renewal."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress

from django.conf import settings
from django.db import Error, connection

from dashboard.core.database_errors import is_disk_full
from dashboard.core.errors import LeaseLost
from dashboard.runs import services as runs
from dashboard.runs.services import Lease


async def keep_lease(lease: Lease) -> None:
    """Renew the lease until it is cancelled; raise LeaseLost when another worker may have the run.

    That is so when a renewal is refused, and when the database has not answered for as long as a
    lease lasts.
    """
    keeper = _LeaseKeeper(lease, asyncio.get_running_loop())
    keeper.thread.start()
    try:
        await keeper.watch()
    finally:
        keeper.stopping.set()


class _LeaseKeeper:
    def __init__(self, lease: Lease, loop: asyncio.AbstractEventLoop) -> None:
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._renew, name="lease-keeper", daemon=True)
        self._lease = lease
        self._loop = loop
        self._failed: asyncio.Future[None] = loop.create_future()
        self._renewed_at = time.monotonic()

    async def watch(self) -> None:
        """Wait for a failure of the thread, or for a renewal that takes too long."""
        lease_s = settings.RUN_LEASE.total_seconds()
        while (left_s := self._renewed_at + lease_s - time.monotonic()) > 0:
            await asyncio.wait({self._failed}, timeout=left_s)
            if self._failed.done():
                self._failed.result()
        raise LeaseLost("The database did not answer for as long as a lease lasts.")

    def _renew(self) -> None:
        try:
            while not self.stopping.wait(settings.RUN_HEARTBEAT.total_seconds()):
                self._renew_once()
        except (LeaseLost, Error) as exc:
            self._report(exc)
        finally:
            connection.close()

    def _renew_once(self) -> None:
        asked_at = time.monotonic()
        try:
            runs.renew_lease(self._lease)
        except Error as exc:
            # There may be space again before the lease runs out.
            if not is_disk_full(exc):
                raise
        else:
            self._renewed_at = asked_at

    def _report(self, exc: Exception) -> None:
        def fail() -> None:
            if not self.stopping.is_set():
                self._failed.set_exception(exc)

        # The loop is closed when the run has ended meanwhile: then nobody needs to know.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(fail)
