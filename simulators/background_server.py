"""Serves an application from a thread of this process, on a local port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from simulators.listener import open_listener

START_SECONDS = 30


@contextmanager
def serve_in_background(
    app: ASGIApp, port: int = 0, *, lifespan: Literal["on", "off"] = "off"
) -> Iterator[str]:
    """Serve the application and yield its address; port 0 picks a free one."""
    with open_listener("127.0.0.1", port) as listener:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan=lifespan,
                timeout_graceful_shutdown=1,
            )
        )
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            _wait_until_up(server, thread)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(START_SECONDS)


def _wait_until_up(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("The simulated vendors did not start.")
        time.sleep(0.005)
