"""Schedules due runs and executes them."""

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
from django.db import Error

from dashboard.core import broker, egress_grants, partitions
from dashboard.core.database_errors import explain_error, find_write_problem, is_disk_full
from dashboard.core.errors import LeaseLost
from dashboard.runs import attempts, pulses, schedule, workers
from dashboard.runs import services as runs
from dashboard.runs.services import Lease
from dashboard.trust import finish, profiles
from probes import fingerprint, runner
from probes.fingerprint import EngineFacts
from probes.outcomes import Attempt
from probes.transport import Transport
from workers import shutdown
from workers.database_trouble import survive_database_errors
from workers.lease_keeper import keep_lease
from workers.notifying import send_notices
from workers.upkeep import do_upkeep

log = structlog.get_logger()

# A task claims further runs for this long, so that one wake-up is enough for many runs.
DRAIN_FOR_S = 600.0
# Reading the engine of an endpoint must not delay its run.
ENGINE_TIMEOUT_S = 20.0


@shared_task
def beat() -> None:
    with survive_database_errors():
        run_scheduler_pass()


@shared_task
def run_suite(run_id: int) -> None:
    """A wake-up: execute the most urgent runs, not necessarily this one."""
    log.debug("doorbell", run=run_id)
    with survive_database_errors():
        drain_queue(for_s=DRAIN_FOR_S)


def run_scheduler_pass() -> None:
    """Reap dead workers, queue due runs, and send wake-ups for queued runs."""
    partitions.ensure_partitions()
    schedule.reap_expired_leases()
    schedule.retire_unserved_runs()
    schedule.schedule_due()
    pulses.record_pulse(pulses.SCHEDULE)
    room = broker.MAX_WAITING - broker.count_waiting()
    if room > 0:
        broker.wake_for_runs(schedule.claim_wakeups(room))


def tick() -> None:
    """One turn of the timer: as beat does, and without a working broker execute a run here."""
    with survive_database_errors():
        workers.record_heartbeat(worker_name())
        try:
            run_scheduler_pass()
            is_broker_failing = schedule.has_overdue_run()
        except broker.BrokerDown as exc:
            log.warning("no broker, probing without it", error=str(exc))
            is_broker_failing = True
        do_upkeep()
        send_notices()
        if is_broker_failing:
            drain_queue(for_s=0)


def drain_queue(*, for_s: float) -> None:
    """Execute runs until none can be claimed, the time is over, or the worker stops.

    Claims nothing while the database takes no results: a run is given up after a few claims.
    """
    if problem := find_write_problem():
        log.warning(problem)
        return
    end = time.monotonic() + for_s
    while not shutdown.is_requested() and (lease := runs.claim_run(owner=worker_name())):
        execute_run(lease)
        if time.monotonic() >= end:
            break


def execute_run(lease: Lease) -> None:
    """Probe without an open transaction, store each attempt as it arrives, then finish once."""
    with structlog.contextvars.bound_contextvars(run=lease.run_id, endpoint=lease.slug):
        try:
            async_to_sync(_execute_run)(lease)
        except LeaseLost:
            log.warning("lease lost, another worker has the run")


async def _execute_run(lease: Lease) -> None:
    work = await sync_to_async(runs.start_run)(lease)
    if work is None:
        return
    probe_task = asyncio.create_task(_probe_endpoint(lease, work))
    lease_task = asyncio.create_task(keep_lease(lease))
    done, pending = await asyncio.wait(
        {probe_task, lease_task}, return_when=asyncio.FIRST_COMPLETED
    )
    for task in pending:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    for task in done:
        task.result()
    # After the last renewal: a renewal of a run that has just ended would be refused.
    if probe_task in done and probe_task.result():
        await sync_to_async(finish.finish_run)(lease)


async def _probe_endpoint(lease: Lease, work: runs.RunWork) -> bool:
    """Store every attempt; False if the run was superseded."""
    rules = await sync_to_async(egress_grants.read_egress_rules)()
    async with Transport(work.target.limits, egress=rules) as transport:
        if work.needs_engine_facts:
            engine = await _read_engine(work, transport)
            if not await sync_to_async(profiles.record_engine_facts)(lease, engine):
                log.info("another profile key, run superseded")
                return False
        stream = runner.run_trials(
            work.target,
            work.trials,
            seed=work.seed,
            transport=transport,
            output_limit=work.output_limit,
            reasoning_replay=work.reasoning_replay,
        )
        async with aclosing(stream):
            async for attempt in stream:
                await _record_attempt(lease, attempt)
    return True


async def _record_attempt(lease: Lease, attempt: Attempt) -> None:
    """Store the attempt; while the database's disk is full, wait for space, as the lease allows."""
    while True:
        try:
            await sync_to_async(attempts.record_attempt)(lease, attempt)
        except Error as exc:
            if not is_disk_full(exc):
                raise
            log.warning(explain_error(exc))
            await asyncio.sleep(settings.RUN_HEARTBEAT.total_seconds())
        else:
            return


async def _read_engine(work: runs.RunWork, transport: Transport) -> EngineFacts:
    try:
        async with asyncio.timeout(ENGINE_TIMEOUT_S):
            return await fingerprint.read_engine(work.target, transport)
    except TimeoutError:
        return EngineFacts()


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
