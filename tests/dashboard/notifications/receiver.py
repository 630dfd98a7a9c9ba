"""A receiver of notices on this machine: notes what comes, and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook
from typing_extensions import override


@dataclass(frozen=True)
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> Any:
        """What a receiver does first; raises unless the signature fits."""
        return Webhook(secret).verify(self.body, self.headers)

    def json(self) -> Any:
        return json.loads(self.body)


Answer = int | Callable[["_Handler"], None]


class Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[Received] = []
        # One after another; after the last, 200.
        self.answers: list[Answer] = []
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"

    def ids(self) -> list[str]:
        return [each.id for each in self.received]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(Received(headers, body))
        answer = self.server.answers.pop(0) if self.server.answers else 200
        if callable(answer):
            answer(self)
        else:
            self.say(answer)

    def say(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", "0")
        self.end_headers()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def receiving() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()


def hang(handler: _Handler) -> None:
    """Say nothing at all."""
    handler.server.stopping.wait(30)


def hang_after_the_status(handler: _Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.flush()
    handler.server.stopping.wait(30)


def redirect_to(url: str) -> Callable[[_Handler], None]:
    return lambda handler: handler.say(302, location=url)


def flood(handler: _Handler) -> None:
    """A hundred megabytes, for as long as somebody reads."""
    handler.send_response(200)
    handler.send_header("content-length", str(100 * 1024 * 1024))
    handler.end_headers()
    try:
        for _ in range(1600):
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass
