"""A transport to vendors in the same process: no sockets, timed by the event loop's clock."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope
from typing_extensions import override

from probes.errors import Phase, TimedOut, TooLarge, TransportError
from probes.http_messages import Chunk, WireRequest, WireResponse
from probes.target import Limits
from probes.transport import Transport
from simulators.vendors.http_response import ConnectionDropped

HTTP_VERSION = "HTTP/1.1"


class InProcessTransport(Transport):
    """Passes every request to one application, whatever host its URL names.

    An answer is timed by the running loop: in virtual time it takes as long as the vendor says,
    without real waiting.
    """

    def __init__(self, app: ASGIApp, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self._app = app

    @override
    async def send(self, outgoing: WireRequest) -> WireResponse:
        """Send the request and return the answer within the limits, or raise a ProbesError."""
        collector = _ResponseCollector(
            self.limits.max_stream_bytes if outgoing.may_be_long else self.limits.max_bytes
        )
        try:
            async with asyncio.timeout(self.limits.total_s):
                await self._app(_scope(outgoing), _make_receive(outgoing.body), collector.send)
        except TimeoutError as exc:
            message = f"The answer was not complete within {self.limits.total_s:g} s."
            raise TimedOut(message, Phase.TOTAL, received=collector.response_so_far()) from exc
        except ConnectionDropped as exc:
            message = "The connection was closed before the answer was complete."
            raise TransportError(message, received=collector.response_so_far()) from exc
        incoming = collector.response_so_far()
        assert incoming is not None
        self.statuses[incoming.status] += 1
        return incoming


class _ResponseCollector:
    """What the application has sent so far."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = self._bytes_left = max_bytes
        self._head: WireResponse | None = None
        self._chunks: list[Chunk] = []
        self._started = asyncio.get_running_loop().time()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self._head = WireResponse(
                message["status"], headers, first_byte_ms=self._ms(), http_version=HTTP_VERSION
            )
        elif data := message.get("body"):
            self._chunks.append(Chunk(self._ms(), data))
            self._bytes_left -= len(data)
            if self._bytes_left < 0:
                raise TooLarge(f"The answer exceeds the limit of {self._max_bytes} bytes.")

    def response_so_far(self) -> WireResponse | None:
        if self._head is None:
            return None
        return replace(self._head, chunks=tuple(self._chunks), total_ms=self._ms())

    def _ms(self) -> int:
        return round((asyncio.get_running_loop().time() - self._started) * 1000)


def _scope(outgoing: WireRequest) -> Scope:
    url = urlsplit(outgoing.url)
    headers = {"host": url.netloc, **outgoing.headers}
    return {
        "type": "http",
        "http_version": "1.1",
        "method": outgoing.method,
        "scheme": url.scheme,
        "path": unquote(url.path),
        "raw_path": url.path.encode(),
        "root_path": "",
        "query_string": url.query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
    }


def _make_receive(body: bytes) -> Receive:
    """Deliver the request, then nothing: this client never disconnects."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.get_running_loop().create_future()
        return messages.pop()

    return receive
