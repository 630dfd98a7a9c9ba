"""Starts Python programs of the product as forks of a process that has imported their libraries.

A worker takes a second to import what it needs, and the tests start and kill some sixty of them.
The forks are processes like any others: in a session of their own, with an environment and settings
of their own. Only what no setting can change is imported before the fork.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
# Elsewhere sockets of this kind are missing, or forks of a process with threads crash.
CAN_FORK = sys.platform == "linux"
IMPORTED = (
    "allauth",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.concurrency.prefork",
    "celery.worker.consumer",
    "cryptography.hazmat.primitives.ciphers.aead",
    "django.contrib.postgres.fields",
    "django.contrib.postgres.search",
    "django.core.management",
    "django.core.management.commands.shell",
    "django.db.backends.postgresql.base",
    "django.forms",
    "health.observation_bits",
    "health.watch",
    "kombu.transport.redis",
    "probes.fingerprint",
    "probes.runner",
    "psycopg_pool",
    "standardwebhooks",
    "structlog",
    "zstandard",
)
MESSAGE_BYTES = 1_000_000
# What `os.waitpid` says if no child has ended.
STILL_RUNNING = (0, 0)
# Only against a process that hangs.
RUN_SECONDS = 120


class Fork:
    """A running program, with the methods of `subprocess.Popen` that the tests use."""

    def __init__(self, forks: ForkServer, pid: int) -> None:
        self._forks = forks
        self.pid = pid

    def poll(self) -> int | None:
        return self._forks.exit_code(self.pid, seconds=0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._forks.exit_code(self.pid, seconds=timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def send_signal(self, signum: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, signum)


class ForkServer:
    """The process that forks, as its client sees it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._codes: dict[int, int] = {}
        with theirs:
            # It ends when this side of the socket closes, so with the process of the tests.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())],
                cwd=ROOT,
                # As all services of the product: a log is complete even if its process is killed.
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def start(
        self, arguments: Sequence[str], env: Mapping[str, str], outputs: tuple[int, int]
    ) -> Fork:
        """Run `python -m <arguments>` with its output and its errors in these files."""
        request = json.dumps({"arguments": list(arguments), "env": dict(env)})
        socket.send_fds(self._socket, [request.encode()], outputs)
        while (message := self._receive(None)).get("started") is None:
            pass
        return Fork(self, message["started"])

    def exit_code(self, pid: int, *, seconds: float | None) -> int | None:
        """The exit code of a fork; None if it still runs after so many seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        while pid not in self._codes:
            left = None if end is None else max(end - time.monotonic(), 0)
            if not self._receive(left):
                break
        return self._codes.get(pid)

    def _receive(self, seconds: float | None) -> dict[str, int]:
        """The next message, or nothing if none comes in time."""
        if not select.select([self._socket], [], [], seconds)[0]:
            return {}
        text = self._socket.recv(MESSAGE_BYTES)
        assert text, "the process that forks has ended"
        message: dict[str, int] = json.loads(text)
        if "ended" in message:
            self._codes[message["ended"]] = message["code"]
        return message


def start_program(
    command: Sequence[str], env: Mapping[str, str], output: IO[bytes]
) -> Fork | subprocess.Popen[bytes]:
    """Start a command in a session of its own, `python -m <module>` as a fork."""
    if CAN_FORK and command[:2] == [sys.executable, "-m"]:
        return fork_server().start(command[2:], env, (output.fileno(), output.fileno()))
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run_module(
    *arguments: str, env: Mapping[str, str], check: bool = False
) -> subprocess.CompletedProcess[str]:
    """Like `subprocess.run` of `python -m <arguments>` with captured output, but as a fork."""
    if not CAN_FORK:
        return subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=ROOT,
            env=dict(env),
            capture_output=True,
            text=True,
            check=check,
        )
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = fork_server().start(arguments, env, (out.fileno(), err.fileno())).wait(RUN_SECONDS)
        out.seek(0)
        err.seek(0)
        texts = [file.read().decode(errors="replace") for file in (out, err)]
    done = subprocess.CompletedProcess(arguments, code, *texts)
    if check:
        done.check_returncode()
    return done


@cache
def fork_server() -> ForkServer:
    """One per process of the tests, started when a test first needs it."""
    forks = ForkServer()
    atexit.register(forks.close)
    return forks


def _serve(connection: socket.socket) -> list[str] | None:
    """Fork on request and report exits; returns in a fork, with the arguments, or at the end."""
    wakeup, wake = socket.socketpair()
    wake.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno())
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([connection, wakeup], [], [])
        if connection in ready:
            text, fds, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 2)
            if not text:
                _kill_groups(running)
                return None
            request = json.loads(text)
            if (pid := os.fork()) == 0:
                for other in (connection, wakeup, wake):
                    other.close()
                _become_program(request["env"], fds)
                arguments: list[str] = request["arguments"]
                return arguments
            for output in fds:
                os.close(output)
            running.add(pid)
            connection.send(json.dumps({"started": pid}).encode())
        elif wakeup in ready:
            wakeup.recv(100)
            running -= _report_exits(connection)


def _kill_groups(pids: Iterable[int]) -> None:
    """The process of the tests is gone, perhaps killed: what it started must not stay."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _report_exits(connection: socket.socket) -> set[int]:
    ended: set[int] = set()
    with suppress(ChildProcessError):
        while (result := os.waitpid(-1, os.WNOHANG)) != STILL_RUNNING:
            pid, status = result
            ended.add(pid)
            message = {"ended": pid, "code": os.waitstatus_to_exitcode(status)}
            connection.send(json.dumps(message).encode())
    return ended


def _become_program(env: Mapping[str, str], outputs: Sequence[int]) -> None:
    """What `subprocess.Popen` and a new interpreter would do."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for number, output in enumerate(outputs, start=1):
        os.dup2(output, number)
        os.close(output)
    os.environ.clear()
    os.environ.update(env)
    # Forks of one process would draw the same numbers.
    random.seed()


def main(descriptor: int) -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    read_too_early = {"config.settings", "workers", "dashboard.models"} & sys.modules.keys()
    assert not read_too_early, read_too_early
    gc.collect()
    # What is never visited by the garbage collector stays in pages that all forks share.
    gc.freeze()
    arguments = _serve(socket.socket(fileno=descriptor))
    if arguments is not None:
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
