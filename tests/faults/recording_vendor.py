"""The simulated vendors with a record of every request and of clients that hung up.

A URL is `/<name>/<the vendor's own path>`. `GET /_seen/<name>` lists the requests under a name,
`POST /_pace/<name>/<milliseconds>` sets how long its answers take from now on.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from launcher.services import ROOT
from simulators.server import build_app

START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request, as the vendor saw it."""

    at: float
    body: str
    port: int  # of the client's side: identifies the connection
    hung_up: bool


class Vendor:
    """The address of the vendors, and their records."""

    def __init__(self, url: str) -> None:
        self.url = url

    def address(self, name: str) -> str:
        return f"{self.url}/{name}/open/v1"

    def requests(self, name: str) -> list[RecordedRequest]:
        return [RecordedRequest(**record) for record in self._request("GET", f"_seen/{name}")]

    def now(self) -> float:
        """The vendors' clock, to compare with `RecordedRequest.at`."""
        return float(self._request("GET", "_now"))

    def set_pace(self, name: str, *, milliseconds: int) -> None:
        """Set how long an answer under this name takes, and clear its records."""
        self._request("POST", f"_pace/{name}/{milliseconds}")

    def _request(self, method: str, path: str) -> Any:
        with httpx.Client(trust_env=False) as client:
            return client.request(method, f"{self.url}/{path}").raise_for_status().json()


@contextmanager
def running_vendor(host: str = "127.0.0.1", prefix: Sequence[str] = ()) -> Iterator[Vendor]:
    """Run the vendors in a separate process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [*prefix, sys.executable, "-m", "tests.faults.recording_vendor", host, str(port)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        try:
            vendor = Vendor(f"http://{host}:{port}")
            _wait_until_up(vendor, process)
            yield vendor
        finally:
            process.kill()


def _wait_until_up(vendor: Vendor, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            vendor.now()
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("The vendors did not start.")


class RecordingVendors:
    """Wraps the vendors: records each request, waits for its pace, and forwards it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.seen: dict[str, list[dict[str, object]]] = {}
        self.seconds: dict[str, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["path"].lstrip("/").split("/"):
            case ["_now"]:
                await JSONResponse(time.monotonic())(scope, receive, send)
            case ["_seen", name]:
                await JSONResponse(self.seen.get(name, []))(scope, receive, send)
            case ["_pace", name, milliseconds]:
                self.seconds[name] = int(milliseconds) / 1000
                self.seen.pop(name, None)
                await JSONResponse({})(scope, receive, send)
            case other:
                inner = {**scope, "path": "/" + "/".join(other[1:]), "root_path": ""}
                await self._answer(inner, receive, send, other[0])

    async def _answer(self, scope: Scope, receive: Receive, send: Send, name: str) -> None:
        request = Request(scope, receive)
        body = await request.body()
        record: dict[str, object] = {
            "at": time.monotonic(),
            "body": hashlib.sha256(body).hexdigest(),
            "port": request.client.port if request.client else 0,
            "hung_up": False,
        }
        self.seen.setdefault(name, []).append(record)
        if await _hung_up_within(receive, self.seconds.get(name, 0)):
            record["hung_up"] = True
            return
        await self.app(scope, _replay_body(body, receive), send)


async def _hung_up_within(receive: Receive, seconds: float) -> bool:
    """Wait for the answer's time; True if the client disconnected before."""
    disconnect = asyncio.ensure_future(receive())
    done, _ = await asyncio.wait({disconnect}, timeout=seconds)
    if not done:
        disconnect.cancel()
    return bool(done)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    is_sent = False

    async def receive_again() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


def main(host: str, port: int) -> None:
    uvicorn.run(
        RecordingVendors(build_app(latency=(0, 0))),
        host=host,
        port=port,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
