"""Requests to endpoints: the only place of the gateway that opens connections.

The connection is checked against the egress rules by the address that it is made to, whatever the
URL says.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp.connector import AddrInfoType, SocketFactoryType

from probes.egress_rules import EgressDenied, EgressRules
from probes.http_messages import WireRequest

CONNECT_S = 5.0
POOL_WAIT_S = 2.0
IDLE_CONNECTION_S = 15.0
MAX_CONNECTIONS = 4096
# More bytes than this are not read ahead of the client.
READ_AHEAD = 64 * 1024


class UpstreamFailed(Exception):
    """No answer, or none that goes on. `is_connect`: the request never reached the endpoint."""

    def __init__(self, message: str, *, is_connect: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.is_connect = is_connect


@dataclass(slots=True)
class UpstreamReply:
    """An answer whose body is still on its way. Close it, whatever happens."""

    status: int
    headers: Mapping[str, str]
    _response: aiohttp.ClientResponse

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        try:
            async for data in self._response.content.iter_any():
                yield data
        except (aiohttp.ClientError, OSError) as exc:
            raise UpstreamFailed("The endpoint closed the connection in mid-answer.") from exc

    async def read(self, limit: int) -> bytes:
        """The whole body; raises UpstreamFailed beyond the limit."""
        body = bytearray()
        async for data in self.chunks():
            body += data
            if len(body) > limit:
                raise UpstreamFailed(f"The answer exceeds {limit} bytes.")
        return bytes(body)

    def close(self) -> None:
        """Abort what is still on its way; a finished answer keeps its connection."""
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()


class Upstream:
    """A pool of connections to all endpoints, opened with the first request."""

    def __init__(self, egress: EgressRules) -> None:
        self._egress = egress
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=MAX_CONNECTIONS,
            keepalive_timeout=IDLE_CONNECTION_S,
            socket_factory=_guarded_socket(self._egress),
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=READ_AHEAD,
            trust_env=False,
            timeout=aiohttp.ClientTimeout(
                total=None, connect=CONNECT_S + POOL_WAIT_S, sock_connect=CONNECT_S
            ),
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, request: WireRequest) -> UpstreamReply:
        """Send a request and return its answer once the headers have arrived."""
        self._session = self._session or self._open()
        headers = {**request.headers, "Accept-Encoding": "identity"}
        try:
            response = await self._session.request(
                request.method,
                request.url,
                data=request.body,
                headers=headers,
                allow_redirects=False,
            )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as exc:
            raise _connect_failure(exc) from exc
        except (aiohttp.ClientError, OSError) as exc:
            raise UpstreamFailed("The endpoint closed the connection without an answer.") from exc
        return UpstreamReply(response.status, response.headers, response)


class _DeniedAddress(OSError):
    """The egress rules forbid the address. aiohttp expects an OSError where a socket is made."""


def _connect_failure(exc: aiohttp.ClientError) -> UpstreamFailed:
    message = "The endpoint cannot be reached."
    match exc:
        case aiohttp.ClientConnectorDNSError():
            message = "The host name of the endpoint does not resolve."
        case aiohttp.ClientSSLError():
            message = "The TLS handshake with the endpoint failed."
        case aiohttp.ClientConnectorError(os_error=_DeniedAddress() as denied):
            message = str(denied)
        case _:
            pass
    return UpstreamFailed(message, is_connect=True)


def _guarded_socket(egress: EgressRules) -> SocketFactoryType:
    def open_socket(address: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, place = address
        try:
            egress.check(str(place[0]), int(place[1]))
        except EgressDenied as exc:
            raise _DeniedAddress(exc.message) from exc
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        return connection

    return open_socket
