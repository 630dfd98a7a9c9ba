"""Finding what is due, and carrying out runs."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import aclosing, suppress

import structlog
from asgiref.sync import async_to_sync, sync_to_async
from celery import shared_task
from django.conf import settings
from django.db import OperationalError, close_old_connections

from dashboard import enqueue
from dashboard.errors import LeaseLost
from dashboard.services import partitions, results, runs, workers
from dashboard.services.runs import Lease
from probes import runner

log = structlog.get_logger()


@shared_task
def look_around() -> None:
    """What beat asks for: queue what is due, free what died, ring for what waits."""
    partitions.ensure()
    runs.reap()
    runs.schedule_due()
    enqueue.ring(runs.to_ring())


@shared_task
def run_suite(run_id: int) -> None:
    """Carry out one run, if it is still to be had."""
    if lease := runs.claim(owner=_me(), run_id=run_id):
        carry_out(lease)


def tick() -> None:
    """The timer's turn: as beat, and where no doorbell can be rung, carry a run out right here."""
    close_old_connections()
    try:
        workers.seen(_me())
        try:
            look_around()
        except enqueue.BrokerDown as exc:
            log.warning("no broker, probing without it", error=str(exc))
            if lease := runs.claim(owner=_me()):
                carry_out(lease)
    except OperationalError as exc:
        log.warning("no database, trying again later", error=str(exc))
    finally:
        close_old_connections()


def carry_out(lease: Lease) -> None:
    """Probe with no transaction open, store each attempt as it comes, then finish once."""
    with structlog.contextvars.bound_contextvars(run=lease.run_id, endpoint=lease.slug):
        try:
            async_to_sync(_carry_out)(lease)
        except LeaseLost:
            log.warning("lease lost, another worker has the run")


async def _carry_out(lease: Lease) -> None:
    work = await sync_to_async(runs.start)(lease)
    if work is None:
        return
    probing = asyncio.create_task(_probe(lease, work))
    beating = asyncio.create_task(_keep_lease(lease))
    done, pending = await asyncio.wait({probing, beating}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    for task in done:
        task.result()


async def _probe(lease: Lease, work: runs.Work) -> None:
    async with aclosing(runner.run(work.target, work.trials, seed=work.seed)) as attempts:
        async for attempt in attempts:
            await sync_to_async(results.record)(lease, attempt)
    await sync_to_async(results.finish)(lease)


async def _keep_lease(lease: Lease) -> None:
    """Ends only by LeaseLost: a model may think in silence for longer than a lease lasts."""
    while True:
        await asyncio.sleep(settings.RUN_HEARTBEAT.total_seconds())
        await sync_to_async(runs.renew)(lease)


def _me() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
