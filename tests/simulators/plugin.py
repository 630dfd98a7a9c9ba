"""Fixtures of the simulated vendors, registered in the top-level conftest."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import pytest

from probes import pacing

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio only."""
    return "asyncio"


@pytest.fixture(scope="session")
def vendor_url() -> Iterator[str]:
    """The address of the simulated vendors, served by a separate process."""
    with serve_vendors() as (url, _):
        yield url


@pytest.fixture
def short_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry soon after an answer that names no time; tests/probes/test_pacing.py is about that."""
    monkeypatch.setattr(pacing, "DEFAULT_REST_S", 0.05)


@contextlib.contextmanager
def serve_vendors(*options: str, stderr: IO[bytes] | None = None) -> Iterator[tuple[str, int]]:
    """Serve the vendors without latency in a separate process; yields its address and pid."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "simulators", "--port", str(port), "--latency", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, stderr=stderr) as process:
        try:
            _wait_until_up(url, process)
            yield url, process.pid
        finally:
            process.terminate()
            process.wait(10)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(trust_env=False) as client:
        while time.monotonic() < deadline and process.poll() is None:
            try:
                client.get(f"{url}/healthz").raise_for_status()
            except httpx.TransportError:
                time.sleep(0.05)
            else:
                return
    raise RuntimeError("The simulated vendors did not start.")
