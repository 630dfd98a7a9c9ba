"""An endpoint of Chat Completions that does exactly what a test says, and notes what it saw."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

Send = Callable[[bytes], Awaitable[None]]
CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}


def sse(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({**CHUNK, "choices": [choice]}).encode() + b"\n\n"


@dataclass
class ScriptedUpstream:
    """Answers each request by the next script; the last one is repeated."""

    scripts: list[Callable[[ScriptedUpstream, Send], Awaitable[None]]]
    status: list[int] = field(default_factory=lambda: [200])
    bodies: list[Any] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    open_streams: int = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        number = len(self.bodies)
        self.bodies.append(json.loads(body))
        status = self.status[min(number, len(self.status) - 1)]
        media = b"text/event-stream" if status == 200 else b"application/json"
        headers = [(b"content-type", media)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        work = asyncio.create_task(self._run(number, send))
        gone = asyncio.create_task(_until_gone(receive))
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            self.left.set()
            work.cancel()
        gone.cancel()

    async def _run(self, number: int, send: Any) -> None:
        async def write(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        self.open_streams += 1
        try:
            await self.scripts[min(number, len(self.scripts) - 1)](self, write)
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.open_streams -= 1


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def hang(upstream: ScriptedUpstream, write: Send) -> None:
    """Send nothing, for ever."""
    await asyncio.Event().wait()


async def text_then_hang(upstream: ScriptedUpstream, write: Send) -> None:
    await write(sse({"role": "assistant", "content": "Wait."}))
    await asyncio.Event().wait()


async def half_call_then_end(upstream: ScriptedUpstream, write: Send) -> None:
    function = {"name": "Read", "arguments": '{"path": "a'}
    call = {"index": 0, "id": "1", "type": "function", "function": function}
    await write(sse({"role": "assistant", "tool_calls": [call]}))


async def good(upstream: ScriptedUpstream, write: Send) -> None:
    await write(sse({"role": "assistant", "content": "Done."}))
    await write(sse({}, "stop"))
    await write(b"data: [DONE]\n\n")


async def error_first(upstream: ScriptedUpstream, write: Send) -> None:
    await write(b'data: {"error": {"message": "Overloaded", "type": "server_error"}}\n\n')


async def error_body(upstream: ScriptedUpstream, write: Send) -> None:
    await write(b'{"error": {"message": "Something is wrong.", "type": "server_error"}}')
