"""A vendor: one class for all of them. What tells them apart is their `Spec`."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from probes.outcomes import Metric
from simulators.clock import Clock
from simulators.faults.fault_switch import FaultSwitch
from simulators.vendors.http_response import VendorResponse
from simulators.vendors.request_handler import RequestHandler
from simulators.vendors.spec import Endpoint, Spec

# Seconds that an answer takes, at least and at most.
LATENCY = (0.08, 0.25)
MAX_REMEMBERED = 100_000


class Vendor:
    """Serves one Spec over HTTP, with switches that make it go wrong."""

    def __init__(
        self,
        spec: Spec,
        *,
        clock: Clock | None = None,
        latency: tuple[float, float] = LATENCY,
        switches: Sequence[FaultSwitch] = (),
    ) -> None:
        self.spec = spec
        self.clock = clock or Clock()
        self.latency = latency
        # A call can be bent and then leak; what has leaked is text, and no call any more.
        self.switches = sorted(switches, key=lambda s: Metric.LEAK in s.fault.effect.metrics)
        self._seen: dict[str, int] = {}

    def routes(self) -> list[Route]:
        """Everything the vendor serves, below its mount."""
        asking = {self.spec.stream_path: True, self.spec.path: False}
        if len(asking) == 1:
            asking = {self.spec.path: False}
        return [
            *(
                Route(path, partial(self._ask, always_streams=always), methods=["POST"])
                for path, always in asking.items()
            ),
            *(
                Route(path, self._serving(endpoint), methods=[method])
                for (method, path), endpoint in self.spec.endpoints.items()
            ),
        ]

    def serve(self, data: bytes) -> RequestHandler:
        """Who serves a request of these bytes now, and how it goes wrong.

        The dice fall by what is asked and how often it was asked before, not by the order of
        requests: many at once give the same answers as one after the other.
        """
        digest = hashlib.sha256(data).hexdigest()
        if len(self._seen) >= MAX_REMEMBERED:
            self._seen.clear()
        nth = self._seen[digest] = self._seen.get(digest, 0) + 1
        now = self.clock.now()
        fault_hooks = [s.hooks for s in self.switches if s.acts(now, f"{digest}/{nth}")]
        spec = self.spec
        for hooks in fault_hooks:
            spec = hooks.spec(spec)
        return RequestHandler(spec, fault_hooks, random.Random(f"{digest}/{nth}"))

    async def _ask(self, request: Request, *, always_streams: bool) -> Response:
        data = await request.body()
        served = self.serve(data)
        outgoing = served.answer(request, data, always_streams=always_streams)
        wait = served.rng.uniform(*self.latency)
        return VendorResponse(replace(outgoing, wait=outgoing.wait + wait))

    def _serving(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            data = await request.body()
            return VendorResponse(self.serve(data).beside(request, data, endpoint))

        return serve
