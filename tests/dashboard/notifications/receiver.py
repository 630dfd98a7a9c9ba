"""A local receiver of notices that records requests and gives scripted responses."""

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
class ReceivedRequest:
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verify(self, secret: str) -> Any:
        """Verify the signature; raises if it does not match."""
        return Webhook(secret).verify(self.body, self.headers)

    def json(self) -> Any:
        return json.loads(self.body)


Response = int | Callable[["_Handler"], None]


class Receiver(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[ReceivedRequest] = []
        # Used one after another; then 200.
        self.responses: list[Response] = []
        self.is_stopping = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"

    def ids(self) -> list[str]:
        return [request.id for request in self.received]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.received.append(ReceivedRequest(headers, body))
        response = self.server.responses.pop(0) if self.server.responses else 200
        if callable(response):
            response(self)
        else:
            self.respond(response)

    def respond(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", "0")
        self.end_headers()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def run_receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.is_stopping.set()
            server.shutdown()
            thread.join()


def hang(handler: _Handler) -> None:
    """Never respond."""
    handler.server.is_stopping.wait(30)


def hang_after_status(handler: _Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.flush()
    handler.server.is_stopping.wait(30)


def redirect_to(url: str) -> Callable[[_Handler], None]:
    return lambda handler: handler.respond(302, location=url)


def flood(handler: _Handler) -> None:
    """Send a hundred megabytes as long as the client reads."""
    handler.send_response(200)
    handler.send_header("content-length", str(100 * 1024 * 1024))
    handler.end_headers()
    try:
        for _ in range(1600):
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass
