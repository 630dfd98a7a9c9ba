"""The process of the gateway: starts its tasks, serves, and drains when it is stopped.

Any number of processes can share one port; they share nothing else.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from django.conf import settings
from django.db import connection
from typing_extensions import override

from dashboard.core.egress_grants import read_egress_rules
from gateway.app import Gateway
from gateway.shipping import ship_spool
from gateway.snapshot_feed import SnapshotFeed
from gateway.spool import Spool
from gateway.upstream import Upstream

# Answers in progress get this long after a stop; the rest then end with an error of their format.
DRAIN_S = 30


def run_gateway(host: str, port: int) -> int:
    """Serve until a signal; returns the exit code. Django is set up."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(host, port))


async def _serve(host: str, port: int) -> int:
    gateway = await asyncio.to_thread(build_gateway)
    await _Server(gateway).serve(sockets=[_listen(host, port)])
    return 0


def build_gateway() -> Gateway:
    """The gateway of this installation."""
    folder = Path(settings.DATA_DIR) / "gateway"
    spool = Spool(folder / "spool")
    feed = SnapshotFeed(folder / "snapshot", connection_parameters)
    upstream = Upstream(read_egress_rules())
    return Gateway(feed, upstream, spool, background=[ship_spool(spool)])


def connection_parameters() -> dict[str, Any]:
    """How to connect to the database, for a connection of our own that only listens."""
    parameters = connection.get_connection_params()
    return {
        name: value
        for name, value in parameters.items()
        if name not in ("context", "cursor_factory", "pool", "prepare_threshold")
    }


def _config(gateway: Gateway) -> uvicorn.Config:
    return uvicorn.Config(
        gateway,
        http="httptools",
        ws="none",
        lifespan="on",
        # Whom a request comes from is decided by its token alone.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=DRAIN_S,
    )


class _Server(uvicorn.Server):
    """Says that it is not ready any more as soon as it is told to stop."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(_config(gateway))
        self._gateway = gateway

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._gateway.is_draining = True
        asyncio.get_running_loop().call_later(DRAIN_S - 5, self._gateway.end_all)
        await super().shutdown(sockets)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((host, port))
    listener.listen(2048)
    listener.setblocking(False)
    return listener
