from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self

import httpcore
import httpx
from typing_extensions import override

from probes.egress_backend import GuardedBackend, first_bytes
from probes.egress_rules import EgressRules
from probes.errors import (
    ConnectFailed,
    ConnectFailureReason,
    Phase,
    ProviderError,
    TargetError,
    TimedOut,
    TooLarge,
    TransportError,
)
from probes.http_messages import Chunk, WireRequest, WireResponse
from probes.target import Limits

__all__ = ["Chunk", "Transport", "WireRequest", "WireResponse"]

USER_AGENT = "toolgauge"
_TLS_ALERT = b"\x15\x03"
# Reads that keep their own time; evidence keeps fewer.
MAX_READS = 8192
MAX_CONNECTIONS = 100
# How many idle connections are kept, and for how long.
KEPT_CONNECTIONS, KEPT_S = 20, 5.0


class Transport:
    """The only place that opens sockets: bytes out, bytes in, with times and limits.

    Answers of any status are returned. At most `at_once` requests are in flight at a time. With
    `egress`, only the addresses that it allows are connected to; without it all are, which is for
    callers who choose the URL themselves. `inner` replaces httpx's own transport in tests.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        at_once: int | None = None,
        egress: EgressRules | None = None,
        inner: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.statuses: Counter[int] = Counter()
        self._bytes_at_once = 0
        self._slots = nullcontext() if at_once is None else asyncio.Semaphore(at_once)
        self._client = _build_client(KEPT_CONNECTIONS, egress, inner)
        # For a request whose kept connection turns out to be closed.
        self._unkept_client = _build_client(0, egress, inner)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._client.__aexit__(kind, error, traceback)
        await self._unkept_client.aclose()

    async def send(self, outgoing: WireRequest) -> WireResponse:
        """Send one request and read its answer within the limits, or raise a ProbesError.

        Servers close idle connections at any time, also while the next request is on its way. A
        request that finds its connection closed is sent again once, on a new one.
        """
        async with self._slots:
            try:
                incoming = await self._answer(self._client, outgoing)
            except _KeptConnectionClosed:
                repeated = await self._answer(self._unkept_client, outgoing)
                incoming = replace(repeated, reconnected=True)
        self.statuses[incoming.status] += 1
        return incoming

    async def _answer(self, client: httpx.AsyncClient, outgoing: WireRequest) -> WireResponse:
        request = self._build(outgoing)
        reading = _ResponseReading(self.limits, may_be_long=outgoing.may_be_long)
        clock = _Clock(self.limits)
        first_bytes.set(bytearray())
        try:
            async with clock.timeout:
                request.extensions["trace"] = clock.trace
                await self._exchange(client, request, reading, clock)
        except TimeoutError as exc:
            sentence = _TIMEOUTS[clock.phase].format(clock.seconds)
            raise TimedOut(sentence, clock.phase, received=reading.received()) from exc
        except httpx.HTTPError as exc:
            if clock.on_kept_connection and reading.received() is None and _is_closed(exc):
                raise _KeptConnectionClosed from exc
            raise _as_transport_error(exc, request.url, reading.received()) from exc
        finally:
            self._bytes_at_once -= reading.size
        return reading.finished()

    def _build(self, outgoing: WireRequest) -> httpx.Request:
        headers = {"user-agent": USER_AGENT, "accept": "application/json"}
        headers |= {name.lower(): value for name, value in outgoing.headers.items()}
        # A compressed answer could grow without limit before its bytes are counted.
        headers["accept-encoding"] = "identity"
        if not all(value.isascii() and value.isprintable() for value in headers.values()):
            raise TargetError("A request header has characters that HTTP cannot carry.")
        try:
            return self._client.build_request(
                outgoing.method, outgoing.url, headers=headers, content=outgoing.body
            )
        except (httpx.InvalidURL, ValueError) as exc:
            raise TargetError("The URL of the endpoint is not valid.") from exc

    async def _exchange(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        reading: _ResponseReading,
        clock: _Clock,
    ) -> None:
        clock.enter(Phase.CONNECT, self.limits.connect_s)
        response = await client.send(request, stream=True)
        try:
            reading.begin(response)
            clock.enter(Phase.BETWEEN_BYTES, self.limits.idle_s)
            async for data in response.aiter_raw():
                clock.enter(Phase.BETWEEN_BYTES, self.limits.idle_s)
                self._bytes_at_once += len(data)
                reading.add(data)
                if self._bytes_at_once > (limit := self.limits.max_bytes_at_once):
                    message = f"All answers that are read at the same time exceed {limit} bytes."
                    raise TooLarge(message, received=reading.received())
        finally:
            await response.aclose()


class _KeptConnectionClosed(Exception):
    """A connection that was kept from an earlier request ended before any answer."""


def _build_client(
    kept: int, egress: EgressRules | None, inner: httpx.AsyncBaseTransport | None
) -> httpx.AsyncClient:
    """A client that keeps up to that many idle connections."""
    return httpx.AsyncClient(
        transport=inner or _EgressTransport(egress, kept),
        verify=_tls_context(),
        trust_env=False,
        follow_redirects=False,
        # We keep the deadlines: httpx restarts its read timeout with every byte of a header.
        timeout=None,  # noqa: S113
        # An endpoint must not recognise us by its cookies.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


@cache
def _tls_context() -> ssl.SSLContext:
    # Loading the root certificates takes a tenth of a second, which every run would repeat.
    return httpx.create_ssl_context(trust_env=False)


class _EgressTransport(httpx.AsyncBaseTransport):
    """httpx's default transport, over connections that are checked when they are made."""

    def __init__(self, rules: EgressRules | None, kept: int) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_tls_context(),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=kept,
            keepalive_expiry=KEPT_S,
            network_backend=GuardedBackend(rules),
        )

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        url = request.url
        raw_request = httpcore.Request(
            request.method,
            httpcore.URL(
                scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            response = await self._pool.handle_async_request(raw_request)
        except _NETWORK_ERRORS as exc:
            raise _as_httpx(exc) from exc
        assert isinstance(response.stream, AsyncIterable)
        return httpx.Response(
            response.status,
            headers=response.headers,
            stream=_ResponseStream(response),
            extensions=response.extensions,
        )

    @override
    async def aclose(self) -> None:
        await self._pool.aclose()


class _ResponseStream(httpx.AsyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for data in self._response.aiter_stream():
                yield data
        except _NETWORK_ERRORS as exc:
            raise _as_httpx(exc) from exc

    @override
    async def aclose(self) -> None:
        await self._response.aclose()


_NETWORK_ERRORS = (
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


def _as_httpx(exc: Exception) -> httpx.TransportError:
    # httpx and httpcore use the same names for their errors.
    kind: type[httpx.TransportError] = getattr(httpx, type(exc).__name__, httpx.TransportError)
    return kind(str(exc))


class _Clock:
    """One deadline that moves with the phases and never past the total."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._end = asyncio.get_running_loop().time() + limits.total_s
        self.timeout = asyncio.timeout(None)
        self.phase = Phase.CONNECT
        self.seconds = limits.connect_s
        self.on_kept_connection = False
        self._connects = False

    def enter(self, phase: Phase, seconds: float) -> None:
        when = asyncio.get_running_loop().time() + seconds
        if when > self._end:
            phase, seconds, when = Phase.TOTAL, self._limits.total_s, self._end
        self.phase, self.seconds = phase, seconds
        self.timeout.reschedule(when)

    async def trace(self, event: str, info: Mapping[str, object]) -> None:
        if event.endswith("connect_tcp.started"):
            self._connects = True
        if event.endswith("send_request_headers.started"):
            self.on_kept_connection = not self._connects
            self.enter(Phase.FIRST_BYTE, self._limits.first_byte_s)


class _ResponseReading:
    """The part of the response that has arrived so far."""

    def __init__(self, limits: Limits, *, may_be_long: bool) -> None:
        self.size = 0
        self._limits = limits
        self._max_bytes = limits.max_stream_bytes if may_be_long else limits.max_bytes
        self._started = time.monotonic()
        self._head: WireResponse | None = None
        self._chunks: list[Chunk] = []
        # Reads after the first many; an object for each would take far more room than its bytes.
        self._rest = bytearray()

    def begin(self, response: httpx.Response) -> None:
        self._head = WireResponse(
            status=response.status_code,
            headers=dict(response.headers),
            first_byte_ms=self._ms(),
            http_version=response.http_version,
        )
        size = sum(len(name) + len(value) for name, value in response.headers.raw)
        if size > self._limits.max_header_bytes:
            limit = self._limits.max_header_bytes
            raise TooLarge(f"The headers of the answer exceed {limit} bytes.")
        encoding = response.headers.get("content-encoding", "identity")
        if encoding.strip().lower() not in ("", "identity"):
            message = "The answer is compressed although we asked for plain text; it was not read."
            raise ProviderError(response.status_code, message, received=self._head)

    def add(self, data: bytes) -> None:
        room = self._max_bytes - self.size
        self.size += len(data)
        if len(self._chunks) < MAX_READS:
            self._chunks.append(Chunk(self._ms(), data[:room]))
        else:
            self._rest += data[:room]
        if len(data) > room:
            message = f"The answer exceeds the limit of {self._max_bytes} bytes."
            raise TooLarge(message, received=self.received())

    def received(self) -> WireResponse | None:
        if self._head is None:
            return None
        rest = (Chunk(self._ms(), bytes(self._rest)),) if self._rest else ()
        return replace(
            self._head,
            chunks=(*self._chunks, *rest),
            total_ms=self._ms(),
            dropped_bytes=max(self.size - self._max_bytes, 0),
        )

    def finished(self) -> WireResponse:
        incoming = self.received()
        assert incoming is not None
        return incoming

    def _ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)


_TIMEOUTS = {
    Phase.CONNECT: "No connection within {:g} s.",
    Phase.FIRST_BYTE: "No first byte within {:g} s.",
    Phase.BETWEEN_BYTES: "The answer stopped: no further byte within {:g} s.",
    Phase.TOTAL: "The answer was not complete within {:g} s.",
}


def _is_closed(exc: httpx.HTTPError) -> bool:
    """Whether the connection ended, and not with bytes that are no HTTP."""
    is_silent = isinstance(exc, httpx.RemoteProtocolError) and "disconnected" in str(exc)
    return is_silent or isinstance(exc, httpx.ReadError | httpx.WriteError)


def _as_transport_error(
    exc: httpx.HTTPError, url: httpx.URL, received: WireResponse | None
) -> TransportError | TargetError:
    match exc:
        case httpx.ConnectError():
            return _connect_failure(exc, url)
        case httpx.RemoteProtocolError() | httpx.ReadError() if received is not None:
            return TransportError(
                "The connection was closed before the answer was complete.", received=received
            )
        case httpx.RemoteProtocolError():
            return TransportError(_protocol_failure(exc, bytes(first_bytes.get())))
        case httpx.UnsupportedProtocol() | httpx.LocalProtocolError():
            return TargetError(f"The request cannot be sent: {exc}")
        case _:
            return TransportError("The connection broke off.", received=received)


def _protocol_failure(exc: httpx.RemoteProtocolError, first: bytes) -> str:
    """What is wrong with an answer that did not become one, which began with those bytes."""
    is_closed = "disconnected" in str(exc)
    if not first and is_closed:
        return "The endpoint closed the connection without an answer."
    if first.startswith(_TLS_ALERT):
        return "The endpoint speaks TLS: write https:// in the base URL."
    if first and not first.startswith(b"HTTP/"):
        # At the end, where redaction also finds a key that was cut off.
        quoted = repr(first.decode("latin-1"))[1:-1]
        return (
            "The endpoint answers, but not in HTTP. Check scheme, host and port of the base URL. "
            f"The answer begins with: {quoted}"
        )
    if is_closed:
        return "The connection was closed before the answer was complete."
    return f"The endpoint does not speak HTTP as it should: {exc}"


def _connect_failure(exc: httpx.ConnectError, url: httpx.URL) -> ConnectFailed:
    causes = list(_causes(exc))
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            reason = cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else ""
            message = f"The TLS handshake with {url.host!r} failed: {reason or cause.reason}."
            return ConnectFailed(message, ConnectFailureReason.TLS)
        if isinstance(cause, socket.gaierror):
            return ConnectFailed(
                f"The host name {url.host!r} does not resolve.", ConnectFailureReason.NAME
            )
    address = url.netloc.decode("ascii")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ConnectFailed(
            f"The connection to {address!r} was refused.", ConnectFailureReason.REFUSED
        )
    return ConnectFailed(f"No connection to {address!r} came about.")


def _causes(exc: BaseException) -> Iterator[BaseException]:
    """Every exception that an exception was raised from or during, groups included."""
    pending: list[BaseException | None] = [exc]
    seen: set[int] = set()
    while pending:
        cause = pending.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        pending += [cause.__context__, cause.__cause__]
        if isinstance(cause, BaseExceptionGroup):
            pending += cause.exceptions
