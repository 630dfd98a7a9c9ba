"""One child process: started so that it cannot outlive us, asked to end, ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from launcher.privileges import Identity

MAX_LOG_BYTES = 10_000_000

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, as whom, where its output goes, and how it is asked to end."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path | None = None  # None: the terminal
    identity: Identity = field(default_factory=Identity)
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 10.0
    # Sent by the kernel when we were killed and cannot ask any more.
    orphan_signal: signal.Signals = signal.SIGKILL


class Process:
    """A running command, leader of its own process group."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.started = time.monotonic()
        self._popen = _spawn(command)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def exit_code(self) -> int | None:
        """Return None while it runs; negative means ended by that signal."""
        return self._popen.poll()

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """Ask it to end, wait, and kill the group when time is up or there is a hurry."""
        if self.exit_code() is None and not hurry():
            self._popen.send_signal(self.command.stop_signal)
            self._wait(hurry)
        self._kill_group()
        self._popen.wait()

    def _wait(self, hurry: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.command.stop_seconds
        while self.exit_code() is None and time.monotonic() < deadline and not hurry():
            time.sleep(0.02)

    def _kill_group(self) -> None:
        # Nobody may be left in it; macOS says "permission" when only the dead leader is.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def last_lines(log: Path, count: int = 12) -> str:
    """Return the end of a log, indented, to be shown below a message."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8_000))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-count:])


def rotate(log: Path) -> None:
    """Put a log that has grown too long aside, over the one put aside before."""
    if log.exists() and log.stat().st_size > MAX_LOG_BYTES:
        log.replace(log.with_name(log.name + ".1"))


def _spawn(command: Command) -> subprocess.Popen[bytes]:
    output = _open_log(command.log)
    identity = command.identity
    try:
        return subprocess.Popen(
            [*identity.prefix, *command.argv],
            cwd=command.cwd,
            env=dict(command.env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            start_new_session=True,
            user=identity.uid,
            group=identity.gid,
            extra_groups=None if identity.uid is None else [],
            # Safe here: we never start threads, and the hook only makes two system calls.
            preexec_fn=_tie_to_parent(command.orphan_signal),  # noqa: PLW1509
        )
    finally:
        if output:
            output.close()


def _open_log(log: Path | None) -> IO[bytes] | None:
    if log is None:
        return None
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return log.open("ab")


def _tie_to_parent(orphan_signal: signal.Signals) -> Callable[[], None] | None:
    """Return a hook for the child that has the kernel signal it when we die (Linux only)."""
    libc = _libc
    if libc is None:
        return None
    parent = os.getpid()

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(orphan_signal))
        if os.getppid() != parent:
            os._exit(1)

    return tie
