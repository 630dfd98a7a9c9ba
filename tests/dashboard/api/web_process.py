"""A real web process whose queries are counted."""

from __future__ import annotations

import json
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.runs.progress_stream import MAX_WATCHERS
from tests.live import eventually, process


@dataclass(frozen=True, slots=True)
class Site:
    url: str
    log: Path

    def request(self, text: str, method: str, path: str, body: Any = None) -> Any:
        """The JSON response to a request with this token; raises if it is refused."""
        headers = {"Authorization": f"Bearer {text}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.url}/api/v1{path}"
        request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def queries(self) -> int:
        """How often the process has queried the progress of runs."""
        return int(self._fetch("/_queries")["snapshots"])

    def is_quiet(self) -> bool:
        """Whether it has stopped querying."""
        return not self._fetch("/_queries")["reading"]

    @contextmanager
    def limit_watchers(self, watchers: int) -> Iterator[None]:
        """Limit the number of watchers inside the block."""
        self._fetch(f"/_most/{watchers}")
        try:
            yield
        finally:
            self._fetch(f"/_most/{MAX_WATCHERS}")

    def _fetch(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}") as answer:  # noqa: S310
            return json.load(answer)


@contextmanager
def start_site(log: Path, **env: str) -> Iterator[Site]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    site = Site(f"http://127.0.0.1:{port}", log)
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "tests.dashboard.api.query_counting_app:application",
    ]
    command += ["--host", "127.0.0.1", "--port", str(port), "--no-access-log", "--lifespan", "off"]
    command += ["--no-proxy-headers"]
    command += ["--timeout-graceful-shutdown", "2"]
    with process(command, log, PUBLIC_URL=site.url, DATABASE_POOL_SIZE="4", **env):
        eventually(lambda: _is_ready(site.url))
        yield site


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz") as answer:  # noqa: S310
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
