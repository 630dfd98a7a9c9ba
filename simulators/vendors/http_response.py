"""The HTTP response for an OutgoingAnswer: its delays, its chunks and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, repeat

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import override

from simulators.vendors.hooks import AnswerEnd, OutgoingAnswer


class ConnectionDropped(Exception):
    """Raised to make the server close the connection in the middle of an answer."""


class VendorResponse(Response):
    """Sends an OutgoingAnswer with its delays until the client disconnects."""

    def __init__(self, outgoing: OutgoingAnswer) -> None:
        self.outgoing = outgoing
        headers = dict(outgoing.headers)
        if outgoing.end is AnswerEnd.CLEAN and len(outgoing.chunks) == 1:
            headers.setdefault("content-length", str(len(outgoing.chunks[0])))
        super().__init__(None, outgoing.status, headers, outgoing.media_type)
        if "content-length" not in headers:
            del self.headers["content-length"]

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_immediate(self.outgoing):
            await self._send(send)
            return
        sending = asyncio.create_task(self._send(send))
        disconnected = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            await asyncio.wait((sending, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            # Stop sending to a client that has disconnected: an endless answer would never end.
            sending.cancel()
            disconnected.cancel()

    async def _send(self, send: Send) -> None:
        outgoing = self.outgoing
        if outgoing.wait:
            await asyncio.sleep(outgoing.wait)
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await self._send_body(send)
        if outgoing.end is AnswerEnd.CUT:
            raise ConnectionDropped
        if outgoing.end is AnswerEnd.HANG:
            await asyncio.Event().wait()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_body(self, send: Send) -> None:
        outgoing = self.outgoing
        pause = outgoing.think
        for chunk in _iter_chunks(outgoing):
            # Even a pause of 0 yields to other tasks, so an endless answer does not block them.
            await asyncio.sleep(pause)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            pause = outgoing.gap


def _is_immediate(outgoing: OutgoingAnswer) -> bool:
    """Whether it is sent without delay, so that no task has to watch for a disconnect."""
    return outgoing.end is AnswerEnd.CLEAN and not (outgoing.wait or outgoing.think or outgoing.gap)


def _iter_chunks(outgoing: OutgoingAnswer) -> Iterator[bytes]:
    if outgoing.end is AnswerEnd.ENDLESS:
        return chain(outgoing.chunks, repeat(outgoing.chunks[-1]))
    return iter(outgoing.chunks)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
