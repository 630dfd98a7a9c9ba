"""Sends an answer to a client: whole, or as a stream that stays alive while the endpoint thinks."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import Any
from uuid import uuid4

from gateway.exchange import Clocks, Exchange
from gateway.refusal import Refusal
from probes.events import Event, ReplyEnded, ReplyHead
from probes.messages import JSON, ErrorKind, Reply, ReplyError, Stop

Send = Callable[[dict[str, Any]], Awaitable[None]]
MEDIA_TYPES = {"ollama": "application/x-ndjson"}


class Delivery:
    """The response to one request."""

    def __init__(self, send: Send, headers: Mapping[str, str]) -> None:
        self._send = send
        self._headers = dict(headers)
        self.status = 0

    def add_headers(self, headers: Mapping[str, str]) -> None:
        self._headers |= headers

    @property
    def has_begun(self) -> bool:
        return self.status != 0

    async def send_json(
        self, status: int, body: JSON, headers: Mapping[str, str] | None = None
    ) -> None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        sized = {**(headers or {}), "content-length": str(len(data))}
        await self._start(status, "application/json", sized)
        await self._send({"type": "http.response.body", "body": data})

    async def begin_stream(self, format: str) -> None:
        if not self.has_begun:
            media_type = MEDIA_TYPES.get(format, "text/event-stream; charset=utf-8")
            await self._start(200, media_type, {"cache-control": "no-cache"})

    async def send_piece(self, data: bytes, *, is_last: bool = False) -> None:
        more = not is_last
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def _start(self, status: int, media_type: str, headers: Mapping[str, str]) -> None:
        self.status = status
        pairs = {**self._headers, **headers, "content-type": media_type}
        encoded = [
            (name.encode(), value.encode("latin-1", "replace")) for name, value in pairs.items()
        ]
        start = {"type": "http.response.start", "status": status, "headers": encoded}
        await self._send(start)


class Answer:
    """The answer of one exchange on its way to the client.

    `keep` records the exchange; it is called before the last byte is sent. `is_ending` says whether
    the process ends what is still running.
    """

    def __init__(
        self,
        exchange: Exchange,
        delivery: Delivery,
        keep: Callable[[], None],
        is_ending: Callable[[], bool],
    ) -> None:
        self._exchange = exchange
        self._is_ending = is_ending
        self._delivery = delivery
        self._keep = keep
        self._client = exchange.client
        self._head = _reply_head(exchange)

    async def send(self) -> None:
        if self._exchange.request.asked.stream:
            await self._send_stream()
        else:
            await self._send_whole()

    async def _send_whole(self) -> None:
        reply: Reply | None = None
        async with aclosing(self._exchange.events()) as batches:
            async for events in batches:
                reply = next((e.reply for e in events if isinstance(e, ReplyEnded)), reply)
        assert reply is not None
        if reply.stop is Stop.ERROR:
            message = reply.error.message if reply.error else "The endpoint's answer broke off."
            raise Refusal(502, message, "broken_answer", retry_after_s=1)
        self._keep()
        await self._delivery.send_json(200, self._client.write_reply(reply, self._head))

    async def _send_stream(self) -> None:
        """After the first byte every end is one of the client's format, also a failure."""
        self._writer = self._client.write_stream(self._head)
        try:
            await self._send_batches()
        except Refusal as refusal:
            if not self._delivery.has_begun:
                raise
            await self._send_failure(_as_error(refusal))
        except asyncio.CancelledError:
            if not (self._is_ending() and self._delivery.has_begun):
                raise
            message = "Toolgauge's gateway is being stopped. Try again."
            await self._send_failure(ReplyError(ErrorKind.OVERLOADED, message))

    async def _send_batches(self) -> None:
        source = _with_pauses(self._exchange.events(), self._exchange.clocks)
        async with aclosing(source) as batches:
            async for events in batches:
                if events is None:
                    await self._send_piece(self._writer.heartbeat())
                else:
                    await self._send_events(events)

    async def _send_events(self, events: list[Event]) -> None:
        data = b"".join(map(self._writer.write, events))
        is_last = any(isinstance(event, ReplyEnded) for event in events)
        if is_last:
            self._keep()
        if data or is_last:
            await self._send_piece(data, is_last=is_last)

    async def _send_failure(self, error: ReplyError) -> None:
        await self._send_events([ReplyEnded(Reply((), Stop.ERROR, error=error))])

    async def _send_piece(self, data: bytes, *, is_last: bool = False) -> None:
        await self._delivery.begin_stream(self._client.format)
        await self._delivery.send_piece(data, is_last=is_last)


async def _with_pauses(
    source: AsyncGenerator[list[Event]], clocks: Clocks
) -> AsyncGenerator[list[Event] | None]:
    """The batches of a source, and None whenever there was nothing to send for a while."""
    pending: asyncio.Task[list[Event] | None] | None = None
    patience = clocks.hold_status
    try:
        while True:
            pending = pending or asyncio.create_task(_next_batch(source))
            done, _ = await asyncio.wait({pending}, timeout=patience)
            if done:
                batch = pending.result()
                pending = None
                if batch is None:
                    return
                yield batch
            else:
                yield None
            patience = clocks.heartbeat
    finally:
        if pending is not None:
            pending.cancel()
            with suppress(asyncio.CancelledError):
                await pending
        await source.aclose()


async def _next_batch(source: AsyncIterator[list[Event]]) -> list[Event] | None:
    return await anext(source, None)


def _reply_head(exchange: Exchange) -> ReplyHead:
    """An id of its own for every reply, and the model name that the client asked for."""
    prefix = _ID_PREFIXES.get(exchange.client.format, "")
    asked = exchange.request.asked
    return ReplyHead(f"{prefix}{uuid4().hex}", asked.model, created=int(time.time()))


def _as_error(refusal: Refusal) -> ReplyError:
    kind = _KINDS.get(refusal.status, ErrorKind.SERVER)
    return ReplyError(kind, refusal.message, retry_after=refusal.retry_after_s)


_KINDS = {
    400: ErrorKind.INVALID_REQUEST,
    403: ErrorKind.PERMISSION,
    429: ErrorKind.RATE_LIMIT,
    503: ErrorKind.OVERLOADED,
    529: ErrorKind.OVERLOADED,
}
_ID_PREFIXES = {"openai": "chatcmpl-", "anthropic": "msg_", "openai_responses": "resp_"}
