"""The gateway as an ASGI application: routes a request, answers it, and records it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from gateway import agents, model_list
from gateway.access import Caller, find_caller
from gateway.breaker import Breaker
from gateway.delivery import Answer, Delivery
from gateway.exchange import Clocks, Exchange
from gateway.exchange_record import ExchangeRecord
from gateway.model_request import ModelRequest, build_request, read_client_request
from gateway.plan import Plan, PlanCache
from gateway.rate_limits import RateLimiter, RateLimits
from gateway.refusal import Refusal
from gateway.routes import Operation, Route, find_route
from gateway.snapshot_feed import CONSERVATIVE_AFTER, REFUSED_AFTER, SnapshotFeed
from gateway.spool import Spool
from gateway.upstream import Upstream
from probes.adapters import FORMATS
from probes.messages import JSON
from probes.strict_json import parse_json

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

MAX_BODY_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What one process allows, and how long it waits."""

    limits: RateLimits = field(default_factory=RateLimits)
    clocks: Clocks = field(default_factory=Clocks)


class Gateway:
    """Answers the requests of one process."""

    def __init__(
        self,
        feed: SnapshotFeed,
        upstream: Upstream,
        spool: Spool,
        *,
        settings: GatewaySettings | None = None,
        background: Sequence[Coroutine[None, None, None]] = (),
    ) -> None:
        self.feed = feed
        self.upstream = upstream
        self.spool = spool
        self.settings = settings or GatewaySettings()
        self.is_draining = False
        self.is_ending = False
        self._running: set[asyncio.Task[None]] = set()
        self._background = background
        self._plans = PlanCache()
        self._limiter = RateLimiter(self.settings.limits, time.monotonic)
        self._breakers: dict[int, Breaker] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path, method = scope["path"], scope["method"]
        if path == "/healthz":
            await Delivery(send, {}).send_json(200, {"status": "ok"})
        elif path == "/readyz":
            await self._answer_ready(Delivery(send, {}))
        elif (route := find_route(method, path)) is not None:
            await self._answer_route(route, scope, receive, send)
        else:
            message = "There is no such address. The endpoint's page shows the base URL to use."
            await Delivery(send, {}).send_json(404, {"error": {"message": message}})

    def end_all(self) -> None:
        """End every answer that is still running, with an error in the client's format."""
        self.is_ending = True
        for work in self._running:
            work.cancel()

    async def _live(self, receive: Receive, send: Send) -> None:
        """Follow the snapshot and ship the spool while the server runs."""
        await receive()
        await self.feed.start()
        tasks = [asyncio.create_task(work) for work in (self.feed.follow(), *self._background)]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self.spool.rotate()
        await self.upstream.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer_ready(self, delivery: Delivery) -> None:
        is_ready = self.feed.current is not None and not self.is_draining
        body = {"ready": is_ready, "snapshot_age_s": round(self.feed.age.total_seconds())}
        await delivery.send_json(200 if is_ready else 503, body)

    async def _answer_route(self, route: Route, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the client leaves: then everything stops at once."""
        body = await _read_body(receive)
        if body is None:
            return
        work = asyncio.create_task(self._answer(route, _headers(scope), body, send))
        self._running.add(work)
        work.add_done_callback(self._running.discard)
        gone = asyncio.create_task(_wait_until_gone(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()
            with suppress(asyncio.CancelledError):
                await work

    async def _answer(
        self, route: Route, headers: Mapping[str, str], body: bytes, send: Send
    ) -> None:
        client = FORMATS[route.format]
        delivery = Delivery(send, {"x-toolgauge-endpoint": route.slug})
        record: ExchangeRecord | None = None
        try:
            caller = self._find_caller(route, headers)
            if route.operation is not Operation.ANSWER:
                await self._answer_other(route, caller, delivery)
                return
            agent = agents.agent_name(headers.get("user-agent", ""))
            record = ExchangeRecord(caller, route.format, agent)
            with self._limiter.admit(caller.token.prefix, route.slug):
                await self._exchange(route, body, delivery, record)
        except Refusal as refusal:
            if record is not None:
                record.status, record.refusal = refusal.status, refusal.code
                self._keep(record, refusal.status)
            if not delivery.has_begun:
                body_json = client.write_error(refusal.status, refusal.message)
                await delivery.send_json(refusal.status, body_json, refusal.headers())
        except asyncio.CancelledError:
            if record is not None:
                record.client_left = True
            raise
        finally:
            if record is not None:
                self._keep(record, 499 if record.client_left else 500)

    def _find_caller(self, route: Route, headers: Mapping[str, str]) -> Caller:
        snapshot = self.feed.current
        if self.is_draining or snapshot is None or self.feed.age >= REFUSED_AFTER:
            message = "Toolgauge's gateway is not ready. Try again in a moment."
            raise Refusal(503, message, "not_ready", retry_after_s=5)
        return find_caller(snapshot, route.slug, headers)

    async def _exchange(
        self,
        route: Route,
        body: bytes,
        delivery: Delivery,
        record: ExchangeRecord,
    ) -> None:
        client, caller = FORMATS[route.format], record.caller
        plan = self._plans.plan_for(caller.endpoint, is_aged=self.feed.age >= CONSERVATIVE_AFTER)
        asked = read_client_request(client, _parse_body(body))
        if route.format == "gemini":
            asked = replace(asked, model=route.model, stream=bool(route.streams))
        breaker = self._breakers.setdefault(caller.endpoint.id, Breaker(time.monotonic))
        request = record.request = build_request(asked, plan)
        delivery.add_headers(_report_headers(request, plan))
        exchange = Exchange(
            plan, client, request, record, self.upstream, breaker, self.settings.clocks
        )
        answer = Answer(exchange, delivery, lambda: self._keep(record, 200), lambda: self.is_ending)
        await answer.send()
        usage = record.reply.usage if record.reply else None
        if usage is not None:
            spent = (usage.input_tokens or 0) + (usage.output_tokens or 0)
            self._limiter.spend_tokens(caller.token.prefix, spent)

    async def _answer_other(self, route: Route, caller: Caller, delivery: Delivery) -> None:
        if route.operation is Operation.MODELS:
            await delivery.send_json(200, model_list.list_models(route.format, caller.endpoint))
            return
        message = "Tokens cannot be counted here; the client estimates them itself."
        raise Refusal(404, message, "count_tokens")

    def _keep(self, record: ExchangeRecord, status: int) -> None:
        """Write the exchange to the spool, once, before the client has its last byte."""
        if not record.is_kept:
            record.is_kept = True
            record.status = record.status or status
            self.spool.add(record.as_event())


def _report_headers(request: ModelRequest, plan: Plan) -> dict[str, str]:
    """What was done to a request, for whoever looks at its answer."""
    headers = {"x-toolgauge-policy": str(plan.endpoint.policy_version)}
    if request.withheld:
        headers["x-toolgauge-withheld"] = ", ".join(request.withheld)[:1000]
    if losses := request.count_losses():
        headers["x-toolgauge-losses"] = ", ".join(f"{name}={n}" for name, n in losses.items())
    return headers


async def _read_body(receive: Receive) -> bytes | None:
    """The body of a request, as far as the limit; None if the client left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        # What exceeds the limit is read, so that the client gets an answer, and thrown away.
        if len(body) <= MAX_BODY_BYTES:
            body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _parse_body(body: bytes) -> JSON:
    if len(body) > MAX_BODY_BYTES:
        message = f"The request exceeds {MAX_BODY_BYTES} bytes. Start a new conversation."
        raise Refusal(403, message, "body_too_large")
    try:
        parsed = parse_json(body.decode("utf-8"), max_bytes=MAX_BODY_BYTES)
    except UnicodeDecodeError as exc:
        raise Refusal(400, "The request is not UTF-8.", "invalid_request") from exc
    if parsed.error is not None:
        raise Refusal(400, f"The request is not JSON. {parsed.error}", "invalid_request")
    return parsed.value
