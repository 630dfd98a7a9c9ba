"""A network backend that connects only to addresses that were checked at that moment."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable

import httpcore
from typing_extensions import override

from probes.egress_rules import EgressDenied, EgressRules

# How many addresses of one name are tried, and the timeout of each but the last.
MAX_ADDRESSES = 4
CONNECT_TIMEOUT_S = 2.5


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Resolves a name once, refuses it unless all its addresses pass, and connects to one of them.

    The Host header and TLS still use the name.
    """

    def __init__(self, rules: EgressRules) -> None:
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
                return await self._inner.connect_tcp(address, port, CONNECT_TIMEOUT_S)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)

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
        self._rules.check_name(host, port)
        loop = asyncio.get_running_loop()
        try:
            resolved = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:  # an unknown or invalid name
            raise httpcore.ConnectError(str(exc)) from exc
        # In the order of the resolver, without duplicates.
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in resolved))
        for address in addresses:
            self._rules.check(address, port)
        return addresses
