"""The HTTP response that carries a Sending: its waits, its pieces and its way to end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, repeat

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from simulators.vendors.hooks import End, Sending


class BrokenOff(Exception):
    """Raised to make the server close the connection in the middle of an answer."""


class Sent(Response):
    """Sends what a Sending says, in the time it says, for as long as the client is there."""

    def __init__(self, sending: Sending) -> None:
        self.sending = sending
        headers = dict(sending.headers)
        if sending.end is End.CLEAN and len(sending.chunks) == 1:
            headers.setdefault("content-length", str(len(sending.chunks[0])))
        super().__init__(None, sending.status, headers, sending.media_type)
        if "content-length" not in headers:
            del self.headers["content-length"]

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_prompt(self.sending):
            await self._send(send)
            return
        sent = asyncio.create_task(self._send(send))
        gone = asyncio.create_task(_gone(receive))
        try:
            await asyncio.wait((sent, gone), return_when=asyncio.FIRST_COMPLETED)
            if sent.done():
                sent.result()
        finally:
            # A client that has left must not be waited for: an endless answer would never end.
            sent.cancel()
            gone.cancel()

    async def _send(self, send: Send) -> None:
        sending = self.sending
        if sending.wait:
            await asyncio.sleep(sending.wait)
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await self._send_body(send)
        if sending.end is End.CUT:
            raise BrokenOff
        if sending.end is End.HANG:
            await asyncio.Event().wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_body(self, send: Send) -> None:
        sending = self.sending
        pause = sending.think
        for chunk in _pieces(sending):
            # Also a pause of nothing lets others have their turn, even beside an endless answer.
            await asyncio.sleep(pause)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            pause = sending.gap


def _is_prompt(sending: Sending) -> bool:
    """Whether it is sent at once, so that nobody needs to watch whether the client is there."""
    return sending.end is End.CLEAN and not (sending.wait or sending.think or sending.gap)


def _pieces(sending: Sending) -> Iterator[bytes]:
    if sending.end is End.ENDLESS:
        return chain(sending.chunks, repeat(sending.chunks[-1]))
    return iter(sending.chunks)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
