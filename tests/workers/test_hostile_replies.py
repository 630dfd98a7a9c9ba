"""What a worker spends on hostile replies: bounded memory, and never its lease."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dashboard.core.errors import LeaseLost
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Run
from dashboard.runs import services as runs
from simulators.hostile_vendors import ANSWERS
from tests.live import broker, celery_worker, environment, eventually
from workers.lease_keeper import keep_lease

# Every hostile reply in turn: long on a busy machine.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]

MAX_MEMORY_KB = 400 * 1024


def register(vendor_url: str, name: str) -> Endpoint:
    return endpoints.create(
        slug=name,
        provider="openai",
        base_url=f"{vendor_url}/hostile/{name}/v1",
        model="sim-steady",
        options={},
        ttl=timedelta(hours=6),
        max_concurrency=4,
        enabled=False,
        key=None,
    )


def peak_memory(group: int) -> dict[int, int]:
    """The most memory that each process of a group ever used, in kilobytes."""
    peaks: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_member = int((process / "stat").read_text().rpartition(")")[2].split()[2]) == group
            lines = (process / "status").read_text().splitlines() if is_member else []
        except (FileNotFoundError, ProcessLookupError):
            continue
        peaks |= {int(process.name): int(line.split()[1]) for line in lines if "VmHWM" in line}
    return peaks


def all_ended() -> bool:
    return not Run.objects.active().exists()


def test_every_hostile_reply_is_bounded_in_memory_and_keeps_its_lease(
    vendor_url: str, tmp_path: Path
) -> None:
    """No process of a worker needs more than 400 MB for any of them, and no run is lost."""
    broker().flushdb()
    for name in ANSWERS:
        runs.request_run(register(vendor_url, name), by=None)
    limits = {"PROBE_TIMEOUT": "6s", "PROBE_IDLE_TIMEOUT": "2s", "PROVIDER_RUNS": "4"}

    with celery_worker(tmp_path / "worker.log", concurrency=4, **limits) as worker:
        eventually(lambda: Run.objects.filter(state="running").count() > 1)
        processes = set(peak_memory(worker.process.pid))
        eventually(all_ended, seconds=900)
        peaks = peak_memory(worker.process.pid)

    # A process that was replaced would hide its peak.
    assert set(peaks) == processes
    assert max(peaks.values()) < MAX_MEMORY_KB, peaks
    assert set(Run.objects.values_list("claims", flat=True)) == {1}
    assert "lease lost" not in (tmp_path / "worker.log").read_text()


def test_a_lease_is_renewed_while_the_event_loop_is_busy(vendor_url: str, settings: Any) -> None:
    """Parsing blocks the loop; the lease does not wait for it."""
    settings.RUN_HEARTBEAT = timedelta(seconds=0.05)
    run = runs.request_run(register(vendor_url, "html"), by=None)
    lease = runs.claim_run(owner="test")
    assert lease

    def expiry(connection: psycopg.Connection[tuple[object, ...]]) -> object:
        row = connection.execute(
            "SELECT lease_expires_at FROM dashboard_run WHERE id = %s", [run.pk]
        ).fetchone()
        assert row
        return row[0]

    async def block_the_loop() -> None:
        keeper = asyncio.create_task(keep_lease(lease))
        await asyncio.sleep(0)
        with psycopg.connect(environment()["DATABASE_URL"], autocommit=True) as connection:
            first = expiry(connection)
            eventually(lambda: expiry(connection) != first)
        keeper.cancel()

    asyncio.run(block_the_loop())


def test_a_lease_that_is_refused_or_unanswered_is_lost(vendor_url: str, settings: Any) -> None:
    """A cancelled run stops its worker, and so does a database that is silent for too long."""
    settings.RUN_HEARTBEAT = timedelta(seconds=0.05)
    run = runs.request_run(register(vendor_url, "html"), by=None)
    lease = runs.claim_run(owner="test")
    assert lease
    runs.cancel_run(run, by="ann")
    with pytest.raises(LeaseLost, match="cancelled"):
        asyncio.run(keep_lease(lease))

    settings.RUN_HEARTBEAT = timedelta(hours=1)
    settings.RUN_LEASE = timedelta(seconds=0.05)
    with pytest.raises(LeaseLost, match="did not answer"):
        asyncio.run(keep_lease(lease))
