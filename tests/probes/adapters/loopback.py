"""A real HTTP server on loopback that sends queued answers and records its requests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

START_SECONDS = 20
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH"]


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it arrived."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class QueuedAnswer:
    """One answer that the server will send."""

    chunks: tuple[bytes, ...]
    content_type: str = "application/json"
    status: int = 200


@dataclass
class Loopback:
    """The server's address, its queued answers and its recorded requests."""

    url: str
    requests: list[ReceivedRequest] = field(default_factory=list)
    answers: list[QueuedAnswer] = field(default_factory=list)

    def reset(self) -> None:
        self.requests.clear()
        self.answers.clear()

    def answer_json(self, body: object, status: int = 200) -> None:
        """Queue a whole answer."""
        data = json.dumps(body).encode()
        self.answers.append(QueuedAnswer((data,), status=status))

    def answer_stream(
        self, chunks: Iterable[bytes], content_type: str = "text/event-stream"
    ) -> None:
        """Queue a streamed answer; `application/x-ndjson` for line formats."""
        self.answers.append(QueuedAnswer(tuple(chunks), content_type))

    @property
    def last(self) -> ReceivedRequest:
        return self.requests[-1]


@contextmanager
def run_server() -> Iterator[Loopback]:
    """Run the server in a thread of this process. The last answer queued is repeated."""
    loopback = Loopback("")
    server = uvicorn.Server(
        uvicorn.Config(
            _app(loopback),
            host="127.0.0.1",
            port=0,
            log_level="error",
            ws="none",
            lifespan="off",
            proxy_headers=False,
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        _wait_until_up(server)
        port = server.servers[0].sockets[0].getsockname()[1]
        loopback.url = f"http://127.0.0.1:{port}"
        yield loopback
    finally:
        server.should_exit = True
        thread.join(10)


def _app(loopback: Loopback) -> Starlette:
    async def answer(request: Request) -> Response:
        data = await request.body()
        loopback.requests.append(
            ReceivedRequest(
                request.method,
                request.url.path,
                request.url.query,
                dict(request.headers),
                json.loads(data) if data else None,
            )
        )
        queue = loopback.answers
        queued = queue.pop(0) if len(queue) > 1 else queue[0]
        return StreamingResponse(iter(queued.chunks), queued.status, media_type=queued.content_type)

    return Starlette(routes=[Route("/{path:path}", answer, methods=METHODS)])


def _wait_until_up(server: uvicorn.Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if time.monotonic() > deadline:
            raise RuntimeError("The loopback server did not start.")
        time.sleep(0.01)
