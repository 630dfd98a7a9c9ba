"""A vendor. One class serves all of them; a `Spec` holds the differences."""

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
    """Serves one Spec over HTTP, with fault switches."""

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
        # Leaks run last: a leaked call is text, which the other faults could not change.
        self.switches = sorted(switches, key=lambda s: Metric.LEAK in s.fault.effect.metrics)
        self._request_counts: dict[str, int] = {}

    def routes(self) -> list[Route]:
        """Everything the vendor serves, below its mount."""
        model_paths = {self.spec.stream_path: True, self.spec.path: False}
        if len(model_paths) == 1:
            model_paths = {self.spec.path: False}
        return [
            *(
                Route(path, partial(self._answer_request, always_streams=always), methods=["POST"])
                for path, always in model_paths.items()
            ),
            *(
                Route(path, self._make_metadata_route(endpoint), methods=[method])
                for (method, path), endpoint in self.spec.endpoints.items()
            ),
        ]

    def build_handler(self, data: bytes) -> RequestHandler:
        """The handler for a request with this body, with the faults that act on it now.

        Randomness depends on the body and how often it was sent before, not on the order of
        requests: concurrent requests get the same answers as sequential ones.
        """
        digest = hashlib.sha256(data).hexdigest()
        if len(self._request_counts) >= MAX_REMEMBERED:
            self._request_counts.clear()
        count = self._request_counts[digest] = self._request_counts.get(digest, 0) + 1
        now = self.clock.now()
        fault_hooks = [s.hooks for s in self.switches if s.acts(now, f"{digest}/{count}")]
        spec = self.spec
        for hooks in fault_hooks:
            spec = hooks.spec(spec)
        return RequestHandler(spec, fault_hooks, random.Random(f"{digest}/{count}"))

    async def _answer_request(self, request: Request, *, always_streams: bool) -> Response:
        data = await request.body()
        handler = self.build_handler(data)
        outgoing = handler.answer(request, data, always_streams=always_streams)
        wait = handler.rng.uniform(*self.latency)
        return VendorResponse(replace(outgoing, wait=outgoing.wait + wait))

    def _make_metadata_route(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def serve_metadata(request: Request) -> Response:
            data = await request.body()
            return VendorResponse(self.build_handler(data).serve_metadata(request, data, endpoint))

        return serve_metadata
