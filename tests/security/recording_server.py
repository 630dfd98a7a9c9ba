"""A server that records requests, and can redirect them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override


class RecordingServer(ThreadingHTTPServer):
    redirect = ""

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), _Handler)
        self.hosts: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: RecordingServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.hosts.append(self.headers.get("host", ""))
        self.send_response(302 if self.server.redirect else 200)
        if self.server.redirect:
            self.send_header("location", self.server.redirect)
        self.send_header("content-length", "0")
        self.end_headers()

    do_POST = do_GET

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


def run_server(host: str) -> Iterator[RecordingServer]:
    with RecordingServer(host) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()
