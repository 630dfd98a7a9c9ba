"""Ships closed files of the spool to the database, in the background."""

from __future__ import annotations

import asyncio

import structlog
from asgiref.sync import sync_to_async
from django.db import DatabaseError, close_old_connections

from dashboard.live.services import store_exchanges
from gateway.spool import Batch, Spool

log = structlog.get_logger()

SHIP_EVERY_S = 1.0
LONGEST_WAIT_S = 30.0


async def ship_spool(spool: Spool) -> None:
    """Ship until cancelled. While the database is away the files wait."""
    wait = SHIP_EVERY_S
    while True:
        await asyncio.sleep(wait)
        spool.rotate()
        try:
            await sync_to_async(ship_once)(spool)
            wait = SHIP_EVERY_S
        except DatabaseError as exc:
            wait = min(2 * wait, LONGEST_WAIT_S)
            log.warning("exchanges wait in the spool", error=str(exc), seconds=wait)


def ship_once(spool: Spool) -> int:
    """Ship every closed file; returns how many."""
    try:
        return sum(_ship(batch) for batch in spool.closed_batches())
    finally:
        close_old_connections()


def _ship(batch: Batch) -> int:
    if batch.events:
        store_exchanges(batch.id, batch.events)
    batch.discard()
    return 1
