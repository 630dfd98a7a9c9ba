"""All simulated vendors behind one port, plain, with switches, or as the stories tell."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from simulators import hostile_vendors
from simulators.clock import Clock
from simulators.faults.fault import Fault
from simulators.faults.fault_switch import FaultSwitch, SwitchError, read_switches
from simulators.faults.registry import FAULTS
from simulators.ground_truth import truth_page
from simulators.stories import STORIES
from simulators.vendors.registry import SPECS
from simulators.vendors.vendor import LATENCY, Vendor

DEFAULT_PORT = 8900
MAX_SWITCHED = 1_000


def build_app(
    *,
    latency: tuple[float, float] = LATENCY,
    clock: Clock | None = None,
    faults: Mapping[str, Fault] = FAULTS,
) -> Starlette:
    """All vendors, each under its own path, with fresh state; the clock is theirs alone."""
    clock = clock or Clock()

    def vendors(switches: str) -> list[BaseRoute]:
        return _vendors(read_switches(switches, faults), clock, latency)

    return Starlette(
        routes=[
            Route("/healthz", _health),
            Route("/_clock", _clock_page(clock), methods=["GET", "POST"]),
            *vendors(""),
            Mount("/with/{switches}", _Switched(vendors, lambda switches: switches)),
            Mount("/stories/{switches}", _Switched(vendors, lambda name: STORIES[name].switches)),
            Mount("/hostile", routes=hostile_vendors.routes()),
        ]
    )


class _Switched:
    """The vendors with the switches that stand in the address."""

    def __init__(
        self, vendors: Callable[[str], list[BaseRoute]], meant: Callable[[str], str]
    ) -> None:
        # A vendor counts what it was asked, so the same address must meet the same one.
        self.app = lru_cache(MAX_SWITCHED)(lambda text: Starlette(routes=vendors(meant(text))))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp
        try:
            app = self.app(scope["path_params"]["switches"])
        except SwitchError as exc:
            app = JSONResponse({"error": {"message": str(exc)}}, 404)
        except KeyError:
            names = ", ".join(STORIES)
            app = JSONResponse({"error": {"message": f"No such story; there are {names}."}}, 404)
        await app(scope, receive, send)


def _vendors(
    switches: Sequence[FaultSwitch], clock: Clock, latency: tuple[float, float]
) -> list[BaseRoute]:
    vendors = [
        Vendor(
            spec,
            clock=clock,
            latency=latency,
            switches=(*read_switches(spec.faults, FAULTS), *switches),
        )
        for spec in SPECS
    ]
    return [
        Route("/_truth/{vendor}", truth_page({vendor.spec.name: vendor for vendor in vendors})),
        *(Mount(vendor.spec.mount, routes=vendor.routes()) for vendor in vendors),
    ]


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _clock_page(clock: Clock) -> Callable[[Request], object]:
    async def page(request: Request) -> Response:
        if request.method == "POST":
            try:
                seconds = float((await request.json())["advance"])
            except (ValueError, TypeError, KeyError):
                message = 'Send {"advance": SECONDS}.'
                return JSONResponse({"error": {"message": message}}, 400)
            clock.advance(seconds)
        return JSONResponse({"now": clock.now()})

    return page


def serve(
    host: str,
    port: int,
    *,
    latency: tuple[float, float] = LATENCY,
    speed: float = 1,
    since: datetime | None = None,
) -> int:
    """Serve until a signal comes. Returns 1 where the address cannot be had."""
    try:
        listener = socket.create_server((host, port), backlog=1024)
    except OSError as exc:
        print(f"Cannot listen on {host}:{port}: {exc.strerror}.", file=sys.stderr)
        return 1
    clock = Clock.since(since, speed=speed) if since else Clock(speed=speed)
    config = uvicorn.Config(
        build_app(latency=latency, clock=clock),
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
