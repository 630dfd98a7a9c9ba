"""The command in a process of its own, and a minimal vendor for it."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from typing_extensions import override

from probes.messages import JSON
from tests.simulators.plugin import ROOT

COMMAND = (sys.executable, "-m", "cli.main")
# Only against a process that hangs.
TIMEOUT = 120


# Each command is a process of its own, forked after the modules were imported.
_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload(
    ["cli.main", "cli.probe.command", "cli.replay", "cli.selfcheck.command"]
)


def toolgauge(
    *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **(env or {})}
    # Python reads PYTHON* only at its start, so these need a new interpreter.
    if any(name.startswith("PYTHON") for name in env or ()):
        return _start_process(arguments, environment)
    with tempfile.TemporaryDirectory() as folder:
        child = _FORKSERVER.Process(target=_run_in_child, args=(arguments, environment, folder))
        child.start()
        child.join(TIMEOUT)
        if child.exitcode is None:
            child.kill()
            raise subprocess.TimeoutExpired(arguments, TIMEOUT)
        outputs = [(Path(folder) / name).read_text() for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(arguments, child.exitcode, *outputs)


def _start_process(
    arguments: tuple[str, ...], env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )


def _run_in_child(arguments: tuple[str, ...], env: Mapping[str, str], folder: str) -> None:
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["toolgauge", *arguments]
    cli = importlib.import_module("cli.main")
    sys.exit(cli.main())


def probe_arguments(url: str, *arguments: str) -> tuple[str, ...]:
    """Arguments for a light probe of a vendor's model."""
    return (
        *("probe", "--provider", "openai", "--base-url", url, "--model", "sim-steady"),
        *("--suite", "light", *arguments),
    )


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore broken connections: the tests cause them on purpose."""


def prose_body() -> dict[str, JSON]:
    message: JSON = {"role": "assistant", "content": "I would rather not."}
    choice: JSON = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c", "model": "m", "choices": [choice]}


@dataclass
class MiniVendor:
    """Answers every request alike, counts them, and calls `then` when one has arrived."""

    then: Callable[[int], None] = lambda number: None
    status: int = 200
    body: Mapping[str, JSON] = field(default_factory=prose_body)
    url: str = ""
    requests: int = 0
    most_at_once: int = 0
    arrived: threading.Event = field(default_factory=threading.Event)
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def serving(self) -> Iterator[MiniVendor]:
        with _Server(("127.0.0.1", 0), self._handler()) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
            try:
                yield self
            finally:
                server.shutdown()
                thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                vendor.answer(self)

            def do_POST(self) -> None:
                vendor.answer(self)

            @override
            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        handler.rfile.read(int(handler.headers.get("content-length") or 0))
        with self._lock:
            self.requests += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            number = self.requests
        self.arrived.set()
        self.then(number)
        # Before the response: the client may send the next request at once.
        with self._lock:
            self._at_once -= 1
        body = json.dumps(self.body).encode()
        handler.send_response(self.status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
