"""A network backend that connects only to addresses that were checked at that moment.

It also remembers how an answer began: bytes that are no HTTP are gone when httpcore gives up.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import httpcore
from typing_extensions import override

from probes.egress_rules import EgressDenied, EgressRules

# How many addresses of one name are tried, and the timeout of each but the last.
MAX_ADDRESSES = 4
CONNECT_TIMEOUT_S = 2.5
MAX_FIRST_BYTES = 60
# The first bytes of the answer to the current request, over any connection.
first_bytes: ContextVar[bytearray] = ContextVar("first_bytes")


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once, refuses it unless all its addresses pass, and connects to one of them.

    The Host header and TLS still use the name. Without rules, all addresses pass.
    """

    def __init__(self, rules: EgressRules | None) -> None:
        self._rules = rules
        self._inner = httpcore.AnyIOBackend()

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        *others, last = (await self._resolve(host, port))[:MAX_ADDRESSES]
        for address in others:
            try:
                stream = await self._inner.connect_tcp(address, port, CONNECT_TIMEOUT_S)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
            return _RememberingStream(stream)
        return _RememberingStream(
            await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)
        )

    @override
    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise EgressDenied("Only addresses of the network can be connected to.")

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _resolve(self, host: str, port: int) -> list[str]:
        if self._rules is not None:
            self._rules.check_name(host, port)
        loop = asyncio.get_running_loop()
        try:
            resolved = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:  # an unknown or invalid name
            raise httpcore.ConnectError(str(exc)) from exc
        # In the order of the resolver, without duplicates.
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in resolved))
        if self._rules is not None:
            for address in addresses:
                self._rules.check(address, port)
        return addresses


class _RememberingStream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    @override
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._inner.read(max_bytes, timeout)
        first = first_bytes.get()
        first += data[: MAX_FIRST_BYTES - len(first)]
        return data

    @override
    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()

    @override
    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _RememberingStream(stream)

    @override
    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
