from __future__ import annotations

import contextlib
import socket
import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from simulators import hostile
from simulators.vendors.registry import SPECS
from simulators.vendors.vendor import Vendor

DEFAULT_PORT = 8900


async def health(request: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def build() -> Starlette:
    """All vendors behind one port, each under its own path, with fresh state."""
    return Starlette(
        routes=[
            Route("/healthz", health),
            *(Mount(spec.mount, routes=Vendor(spec).routes()) for spec in SPECS),
            Mount("/hostile", routes=hostile.routes()),
        ]
    )


app = build()


def serve(host: str, port: int) -> int:
    """Serve until a signal comes. Returns 1 where the address cannot be had."""
    try:
        listener = socket.create_server((host, port), backlog=512)
    except OSError as exc:
        print(f"Cannot listen on {host}:{port}: {exc.strerror}.", file=sys.stderr)
        return 1
    config = uvicorn.Config(
        app,
        # Hostile answers break off on purpose; uvicorn would report each of them.
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="off",
        # Answers that never end must not hold up the stop.
        timeout_graceful_shutdown=1,
    )
    with listener, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    return 0
