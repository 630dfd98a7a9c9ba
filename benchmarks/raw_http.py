"""A minimal HTTP/1.1 client on a socket, so that only the server is measured."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

LAST_CHUNK = b"0\r\n\r\n"


def request(path: str, body: Any = None) -> bytes:
    """The bytes of a GET, or of a POST of JSON."""
    data = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        "host: localhost",
        "authorization: Bearer sim-benchmark",
        "content-type: application/json",
        f"content-length: {len(data)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + data


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; a chunked body is joined."""

    status: int
    body: bytes


class Connection:
    """One persistent connection."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Self:
        self.reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._writer.close()
        await self._writer.wait_closed()

    async def ask(self, data: bytes) -> Answer:
        """Send a request and read its whole answer."""
        head = await self.begin(data)
        status = int(head.split(b" ", 2)[1])
        for line in head.lower().splitlines():
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
                return Answer(status, await self.reader.readexactly(length))
        return Answer(status, _join_chunks(await self.reader.readuntil(b"\r\n" + LAST_CHUNK)))

    async def begin(self, data: bytes) -> bytes:
        """Send a request and read the head of its answer."""
        self.write(data)
        return await self.reader.readuntil(b"\r\n\r\n")

    def write(self, data: bytes) -> None:
        """Send without waiting."""
        self._writer.write(data)


def _join_chunks(data: bytes) -> bytes:
    """The body without its chunk framing."""
    pieces = []
    while data != LAST_CHUNK:
        size, _, rest = data.partition(b"\r\n")
        length = int(size, 16)
        pieces.append(rest[:length])
        data = rest[length + 2 :]
    return b"".join(pieces)
