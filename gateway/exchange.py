"""One request and its answer: admitted, sent, read, filtered, written.

There is one way through: whole answers are events too. Whatever happens, the endpoint's answer is
closed when the exchange ends, so that nothing is generated for a client that has left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from dashboard.core import encryption
from dashboard.core.errors import Refused as CredentialRefused
from dashboard.live.snapshot import SealedKey
from gateway.breaker import Breaker
from gateway.call_gate import CallGate
from gateway.exchange_record import ExchangeRecord
from gateway.model_request import ModelRequest
from gateway.plan import Plan
from gateway.refusal import Refusal
from gateway.upstream import Upstream, UpstreamFailed, UpstreamReply
from probes.adapters import Adapter
from probes.errors import (
    AuthRejected,
    NotFound,
    ProbesError,
    ProviderError,
    RateLimited,
    Refused,
)
from probes.events import Event, PartDelta, PartStarted, ReplyEnded
from probes.http_messages import Chunk, WireResponse
from probes.http_reply import read_http_reply
from probes.messages import Stop
from probes.secret import Secret
from probes.streams.assembler import reply_events
from probes.target import origin


@dataclass(frozen=True, slots=True)
class Clocks:
    """The times of one exchange, in seconds."""

    total: float = 900
    first_data: float = 120
    idle: float = 60  # between events that carry data; comments do not count
    hold_status: float = 15  # then a stream begins, whatever may come
    heartbeat: float = 5
    longest_retry_wait: float = 10


NOT_IN_TIME = "The endpoint did not answer in time."
MAX_REPLY_BYTES = 32 * 1024 * 1024
MAX_ERROR_BYTES = 256 * 1024
RETRY_STATUSES = frozenset({429, 502, 503, 504, 529})


class UpstreamRefused(Exception):
    """The endpoint's own refusal, before anything was sent to the client."""

    def __init__(self, error: ProbesError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass
class Exchange:
    """One client request on its way to an endpoint and back."""

    plan: Plan
    client: Adapter
    request: ModelRequest
    record: ExchangeRecord
    upstream: Upstream
    breaker: Breaker
    clocks: Clocks
    _end: float = 0.0

    def __post_init__(self) -> None:
        self._end = self._now() + self.clocks.total

    async def events(self) -> AsyncGenerator[list[Event]]:
        """What the client may see, as it becomes known. The last event is a ReplyEnded.

        Raises Refusal or UpstreamRefused before the first event, nothing afterwards.
        """
        request = self.request
        gate = CallGate(self.plan, request.tools, request.choice, request.schemas)
        self.record.gate = gate
        async with aclosing(self._answer(request)) as answer:
            async for events in answer:
                known = list(map(request.names.restore_event, events))
                self._note(known)
                yield gate.pass_events(known)

    def _note(self, events: list[Event]) -> None:
        for event in events:
            if self.record.first_token_ms is None and isinstance(event, PartStarted | PartDelta):
                self.record.first_token_ms = self.record.elapsed_ms()
            if isinstance(event, ReplyEnded):
                self.record.reply = event.reply

    async def _answer(self, request: ModelRequest) -> AsyncGenerator[list[Event]]:
        """The endpoint's events, from a second try if the first fails before any content."""
        for is_last in (False, True):
            answer = self._try(request)
            try:
                async with aclosing(answer):
                    async for events in answer:
                        yield events
                return
            except (UpstreamFailed, UpstreamRefused) as exc:
                if is_last or not self._may_retry(exc):
                    raise self._as_refusal(exc) from exc
                await asyncio.sleep(_retry_wait(exc))
                self.record.retries += 1

    async def _try(self, request: ModelRequest) -> AsyncGenerator[list[Event]]:
        """One request to the endpoint. Raises only before the first event with content."""
        if wait := self.breaker.wait_s():
            message = "The endpoint does not answer at the moment. Try again later."
            raise Refusal(503, message, "breaker_open", retry_after_s=wait)
        self.breaker.begin()
        reply: UpstreamReply | None = None
        try:
            reply = await self._send(request)
            async with aclosing(self._read(request, reply)) as batches:
                async for events in batches:
                    yield events
        except (UpstreamFailed, TimeoutError) as exc:
            failure = exc if isinstance(exc, UpstreamFailed) else UpstreamFailed(NOT_IN_TIME)
            self.breaker.record(is_up=False, is_connect=failure.is_connect)
            raise failure from exc
        finally:
            if reply is not None:
                reply.close()

    async def _send(self, request: ModelRequest) -> UpstreamReply:
        wire = request.wire_request(self.plan, self._key())
        first = self.clocks.first_data if request.sent.stream else self.clocks.total
        async with asyncio.timeout_at(min(self._now() + first, self._end)):
            reply = await self.upstream.send(wire)
        self.record.upstream_status = reply.status
        self.record.first_byte_ms = self.record.elapsed_ms()
        self.breaker.record(is_up=reply.status < 500)
        return reply

    async def _read(
        self, request: ModelRequest, reply: UpstreamReply
    ) -> AsyncGenerator[list[Event]]:
        is_json = "json" in reply.headers.get("content-type", "")
        is_lines = self.plan.adapter.format == "ollama"
        if not request.sent.stream or reply.status >= 300 or (is_json and not is_lines):
            yield await self._read_whole(reply)
            return
        async with aclosing(self._read_stream(reply)) as batches:
            async for events in batches:
                yield events

    async def _read_whole(self, reply: UpstreamReply) -> list[Event]:
        limit = MAX_REPLY_BYTES if reply.status < 300 else MAX_ERROR_BYTES
        async with asyncio.timeout_at(self._end):
            body = await reply.read(limit)
        incoming = WireResponse(
            status=reply.status,
            headers={name.lower(): value for name, value in reply.headers.items()},
            chunks=(Chunk(0, body),),
        )
        try:
            return reply_events(read_http_reply(self.plan.adapter, incoming))
        except ProbesError as exc:
            raise UpstreamRefused(exc) from exc

    async def _read_stream(self, reply: UpstreamReply) -> AsyncGenerator[list[Event]]:
        reader, chunks = self.plan.adapter.read_stream(), reply.chunks()
        has_content = False
        quiet_until = self._now() + self.clocks.first_data
        try:
            while (data := await self._next_chunk(chunks, quiet_until)) is not None:
                if events := reader.feed(data):
                    # Comments of a stalled endpoint are no data, so that they do not count.
                    quiet_until = self._now() + self.clocks.idle
                    has_content = _has_content(events, before=has_content)
                    yield events
        except (UpstreamFailed, TimeoutError):
            if not has_content:
                raise
            self.breaker.record(is_up=False)
        # A client that has a part of the answer gets the rest as an error in its own format.
        events = reader.close()
        _has_content(events, before=has_content)
        yield events

    async def _next_chunk(self, chunks: AsyncIterator[bytes], quiet_until: float) -> bytes | None:
        async with asyncio.timeout_at(min(quiet_until, self._end)):
            return await anext(chunks, None)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _key(self) -> Secret | None:
        sealed = self.plan.endpoint.key
        if sealed is None:
            return None
        if sealed.origin != origin(self.plan.endpoint.url):
            message = "The stored key belongs to another host; ask an operator to enter it again."
            raise Refusal(403, message, "key_of_another_origin")
        return _open_key(sealed)

    def _may_retry(self, exc: UpstreamFailed | UpstreamRefused) -> bool:
        if isinstance(exc, UpstreamFailed):
            return True
        wait = _retry_wait(exc)
        error = exc.error
        status = error.status if isinstance(error, ProviderError) else 0
        return status in RETRY_STATUSES and wait <= self.clocks.longest_retry_wait

    def _as_refusal(self, exc: UpstreamFailed | UpstreamRefused) -> Refusal:
        """The refusal for the client; what it says about the endpoint is recorded."""
        if isinstance(exc, UpstreamFailed):
            self.record.is_available = False
            return Refusal(503, exc.message, "upstream_failed", retry_after_s=2)
        error = exc.error
        if isinstance(error, Refused):
            self.record.refused = error.kind
        return endpoint_refusal(error, self.record)


def endpoint_refusal(error: ProbesError, record: ExchangeRecord) -> Refusal:
    """An endpoint's error answer as the client gets it.

    Its own key is none of the client's business: a 401 would make the client sign in again.
    """
    slug = record.caller.endpoint.slug
    match error:
        case AuthRejected() | NotFound():
            message = f"The endpoint {slug} refused Toolgauge. {error.message}"
            return Refusal(403, message, "endpoint_refused")
        case RateLimited():
            wait = error.retry_after if error.retry_after is not None else 5
            return Refusal(429, error.message, "endpoint_rate_limit", retry_after_s=wait)
        case Refused():
            return Refusal(400, error.message, "endpoint_refused")
        case ProviderError(status=status) if status >= 500:
            record.is_available = False
            return Refusal(status, error.message, "endpoint_error", retry_after_s=2)
        case _:
            record.is_available = False
            return Refusal(502, error.message, "endpoint_error", retry_after_s=2)


def _retry_wait(exc: UpstreamFailed | UpstreamRefused) -> float:
    if isinstance(exc, UpstreamRefused) and isinstance(exc.error, RateLimited):
        return exc.error.retry_after or 0.5
    return 0.2


def _has_content(events: list[Event], *, before: bool) -> bool:
    """Whether there is content by now; raises for an error in its place."""
    for event in events:
        if not before and isinstance(event, ReplyEnded) and event.reply.stop is Stop.ERROR:
            error = event.reply.error
            raise UpstreamFailed(error.message if error else "The stream ended without content.")
        before = before or isinstance(event, PartStarted | ReplyEnded)
    return before


def _open_key(sealed: SealedKey) -> Secret:
    try:
        return encryption.decrypt_secret(sealed.sealed, sealed.bound_to)
    except CredentialRefused as exc:
        raise Refusal(403, exc.message, "key_unreadable") from exc
