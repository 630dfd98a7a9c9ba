"""Real processes of the product, on the test database and the test broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from redis import Redis

from tests.preloaded import Fork, start_program

ROOT = Path(__file__).resolve().parent.parent

# Seconds instead of minutes, so that a test sees leases expire.
QUICK = {
    "RUN_LEASE": "3s",
    "RUN_HEARTBEAT": "0.5s",
    "RUN_RETRY_AFTER": "0.2s",
    "RUN_RING_AGAIN": "1s",
    "SCHEDULE_EVERY": "0.5s",
}


class Live:
    """A process group that a test started."""

    def __init__(self, process: Fork | subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.log = log

    def kill(self) -> None:
        """SIGKILL for every process of the group: none can clean up."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def celery_worker(log: Path, *, concurrency: int = 1, **env: str) -> Iterator[Live]:
    """A real Celery worker; its own timer polls, so no beat is needed."""
    command = [sys.executable, "-m", "celery", "-A", "workers", "worker", "--loglevel", "INFO"]
    command += ["--concurrency", str(concurrency), "--hostname", f"{log.stem}@test"]
    with process(command, log, **env) as live:
        yield live


@contextmanager
def process(command: list[str], log: Path, **env: str) -> Iterator[Live]:
    """Any command of the product, in a process group of its own, killed when the block ends."""
    with log.open("ab") as out:
        child = start_program(command, {**os.environ, **environment(), **QUICK, **env}, out)
    live = Live(child, log)
    try:
        yield live
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                live.kill()


def environment() -> dict[str, str]:
    """The environment that makes a process use the database and settings of this test run."""
    db = connection.settings_dict
    login = f"{quote(db['USER'])}:{quote(db['PASSWORD'])}@" if db["PASSWORD"] else f"{db['USER']}@"
    return {
        "DATABASE_URL": f"postgresql://{login}{db['HOST']}:{db['PORT']}/{db['NAME']}",
        "REDIS_URL": settings.REDIS_URL,
        "STATIC_ROOT": str(settings.STATIC_ROOT),
    }


def broker() -> Redis:
    return Redis.from_url(settings.REDIS_URL)


def eventually(claim: Callable[[], object], *, seconds: float = 60) -> None:
    """Wait until the claim holds; the limit only stops a broken product."""
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, f"still not so after {seconds} s"
        time.sleep(0.05)
