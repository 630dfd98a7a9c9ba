"""The vendors asked within one process: no sockets, and times by the event loop's own clock."""

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


class InProcess(Transport):
    """Hands each request to an application, wherever its URL points.

    The times of an answer are those of the running loop, so that in virtual time an answer takes
    as long as the vendor says, and nobody waits for it.
    """

    def __init__(self, app: ASGIApp, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self._app = app

    @override
    async def send(self, outgoing: WireRequest) -> WireResponse:
        """Ask the application and take its answer within the limits, or raise a ProbesError."""
        answer = _Answer(self.limits)
        try:
            async with asyncio.timeout(self.limits.total_s):
                await self._app(_scope(outgoing), _receiving(outgoing.body), answer.take)
        except TimeoutError as exc:
            message = f"The answer was not complete within {self.limits.total_s:g} s."
            raise TimedOut(message, Phase.TOTAL, received=answer.so_far()) from exc
        except ConnectionDropped as exc:
            message = "The connection was closed before the answer was complete."
            raise TransportError(message, received=answer.so_far()) from exc
        incoming = answer.so_far()
        assert incoming is not None
        self.statuses[incoming.status] += 1
        return incoming


class _Answer:
    """What the application has sent so far."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._head: WireResponse | None = None
        self._chunks: list[Chunk] = []
        self._room = limits.max_bytes
        self._started = asyncio.get_running_loop().time()

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = {name.decode(): value.decode() for name, value in message["headers"]}
            self._head = WireResponse(
                message["status"], headers, first_byte_ms=self._ms(), http_version=HTTP_VERSION
            )
        elif data := message.get("body"):
            self._chunks.append(Chunk(self._ms(), data))
            self._room -= len(data)
            if self._room < 0:
                raise TooLarge(f"The answer exceeds the limit of {self._limits.max_bytes} bytes.")

    def so_far(self) -> WireResponse | None:
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


def _receiving(body: bytes) -> Receive:
    """The request, then silence: this client stays until it has its answer."""
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.get_running_loop().create_future()
        return messages.pop()

    return receive
