"""Finding what is due, and carrying out runs."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import aclosing, suppress

import structlog
from asgiref.sync import async_to_sync, sync_to_async
from celery import shared_task
from django.conf import settings
from django.db import Error, close_old_connections

from dashboard.core import broker, egress_grants, partitions
from dashboard.core.errors import LeaseLost
from dashboard.runs import attempts, pulses, schedule, workers
from dashboard.runs import services as runs
from dashboard.runs.services import Lease
from dashboard.trust import finish, profiles
from probes import fingerprint, runner
from probes.fingerprint import EngineFacts
from probes.transport import Transport
from workers import shutdown
from workers.notifying import notify
from workers.upkeep import upkeep

log = structlog.get_logger()

# A task goes on to the next run for this long, so that one doorbell is enough for many runs.
DRAIN_FOR_S = 600.0
# Asking an endpoint what it is must not hold up its run.
ENGINE_WITHIN_S = 20.0


@shared_task
def beat() -> None:
    """What beat asks for."""
    pulses.note(pulses.BEAT)
    look_around()


@shared_task
def run_suite(run_id: int) -> None:
    """A doorbell: carry out the most urgent run and go on while there is one to be had."""
    log.debug("doorbell", run=run_id)
    drain(for_s=DRAIN_FOR_S)


def look_around() -> None:
    """Queue what is due, free what died, ring for what waits."""
    partitions.ensure_partitions()
    schedule.reap()
    schedule.retire_unserved()
    schedule.schedule_due()
    pulses.note(pulses.LOOK_AROUND)
    room = broker.MAX_WAITING - broker.count_waiting()
    if room > 0:
        broker.wake_for_runs(schedule.to_ring(room))


def tick() -> None:
    """The timer's turn: as beat, and where no doorbell is heard, carry a run out right here."""
    close_old_connections()
    try:
        workers.seen(worker_name())
        try:
            look_around()
            unheard = schedule.is_neglected()
        except broker.BrokerDown as exc:
            log.warning("no broker, probing without it", error=str(exc))
            unheard = True
        upkeep()
        notify()
        if unheard:
            drain(for_s=0)
    except Error as exc:
        log.warning("database trouble, trying again later", error=str(exc))
    finally:
        close_old_connections()


def drain(*, for_s: float) -> None:
    """Carry out one run after another until none is to be had, or the time or worker ends."""
    end = time.monotonic() + for_s
    while not shutdown.is_requested() and (lease := runs.claim(owner=worker_name())):
        carry_out(lease)
        if time.monotonic() >= end:
            break


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
    rules = await sync_to_async(egress_grants.read_egress_rules)()
    async with Transport(work.target.limits, egress=rules) as transport:
        if work.ask_engine:
            engine = await _engine(work, transport)
            if not await sync_to_async(profiles.record_engine_facts)(lease, engine):
                log.info("another profile key, run superseded")
                return
        made = runner.run_trials(work.target, work.trials, seed=work.seed, transport=transport)
        async with aclosing(made):
            async for attempt in made:
                await sync_to_async(attempts.record)(lease, attempt)
    await sync_to_async(finish.finish_run)(lease)


async def _engine(work: runs.Work, transport: Transport) -> EngineFacts:
    try:
        async with asyncio.timeout(ENGINE_WITHIN_S):
            return await fingerprint.read_engine(work.target, transport)
    except TimeoutError:
        return EngineFacts()


async def _keep_lease(lease: Lease) -> None:
    """Ends only by LeaseLost: a model may think in silence for longer than a lease lasts.

    A database that does not answer has given the run to somebody else by then.
    """
    every, lasts = settings.RUN_HEARTBEAT.total_seconds(), settings.RUN_LEASE.total_seconds()
    while True:
        await asyncio.sleep(every)
        try:
            async with asyncio.timeout(lasts - every):
                await sync_to_async(runs.renew)(lease)
        except TimeoutError as exc:
            raise LeaseLost("The database did not answer for as long as a lease lasts.") from exc


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
