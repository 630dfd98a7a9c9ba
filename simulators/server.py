"""All simulated vendors on one port: healthy, with fault switches, or following a story."""

from __future__ import annotations

import contextlib
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
from simulators.faults.fault_registry import FAULTS
from simulators.faults.fault_switch import FaultSwitch, SwitchError, read_switches
from simulators.ground_truth import truth_page
from simulators.listener import open_listener
from simulators.stories import STORIES
from simulators.vendors.vendor import LATENCY, Vendor
from simulators.vendors.vendor_registry import SPECS

DEFAULT_PORT = 8900
MAX_SWITCHED_APPS = 1_000


def build_app(
    *,
    latency: tuple[float, float] = LATENCY,
    clock: Clock | None = None,
    faults: Mapping[str, Fault] = FAULTS,
) -> Starlette:
    """All vendors, each under its own path, with fresh state and one clock."""
    clock = clock or Clock()

    def build_routes(switches: str) -> list[BaseRoute]:
        return _build_vendor_routes(read_switches(switches, faults), clock, latency)

    return Starlette(
        routes=[
            Route("/healthz", _show_health),
            Route("/_clock", _clock_page(clock), methods=["GET", "POST"]),
            *build_routes(""),
            Mount("/with/{switches}", _SwitchedVendors(build_routes, lambda switches: switches)),
            Mount(
                "/stories/{switches}",
                _SwitchedVendors(build_routes, lambda name: STORIES[name].switches),
            ),
            Mount("/hostile", routes=hostile_vendors.routes()),
        ]
    )


class _SwitchedVendors:
    """The vendors with the fault switches in the path."""

    def __init__(
        self, build_routes: Callable[[str], list[BaseRoute]], to_switches: Callable[[str], str]
    ) -> None:
        # A vendor counts its requests, so the same address must reach the same instance.
        self.app = lru_cache(MAX_SWITCHED_APPS)(
            lambda text: Starlette(routes=build_routes(to_switches(text)))
        )

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


def _build_vendor_routes(
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


async def _show_health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _clock_page(clock: Clock) -> Callable[[Request], object]:
    async def show_clock(request: Request) -> Response:
        if request.method == "POST":
            try:
                seconds = float((await request.json())["advance"])
            except (ValueError, TypeError, KeyError):
                message = 'Send {"advance": SECONDS}.'
                return JSONResponse({"error": {"message": message}}, 400)
            clock.advance(seconds)
        return JSONResponse({"now": clock.now()})

    return show_clock


def serve(
    host: str,
    port: int,
    *,
    latency: tuple[float, float] = LATENCY,
    speed: float = 1,
    since: datetime | None = None,
) -> int:
    """Serve until a signal arrives. Returns 1 if the address is not available."""
    try:
        listener = open_listener(host, port)
    except OSError as exc:
        print(f"Cannot listen on {host}:{port}: {exc.strerror}.", file=sys.stderr)
        return 1
    clock = Clock.since(since, speed=speed) if since else Clock(speed=speed)
    config = uvicorn.Config(
        build_app(latency=latency, clock=clock),
        # Hostile answers break the connection on purpose; uvicorn would log each of them.
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        # Endless answers must not delay the shutdown.
        timeout_graceful_shutdown=1,
    )
    with listener, contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    return 0
