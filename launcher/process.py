"""A child process that cannot outlive its parent: starting and stopping it."""

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
    """A command with its user, its log and its stop signal."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path | None = None  # None: the terminal
    identity: Identity = field(default_factory=Identity)
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 10.0
    # Sent by the kernel when the parent was killed.
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
        """Return None while it runs; a negative code is the signal that ended it."""
        return self._popen.poll()

    def stop(self, is_urgent: Callable[[], bool] = lambda: False) -> None:
        """Send the stop signal, wait, and kill the group on timeout or when urgent."""
        if self.exit_code() is None and not is_urgent():
            self._popen.send_signal(self.command.stop_signal)
            self._wait(is_urgent)
        self._kill_group()
        self._popen.wait()

    def _wait(self, is_urgent: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.command.stop_seconds
        while self.exit_code() is None and time.monotonic() < deadline and not is_urgent():
            time.sleep(0.02)

    def _kill_group(self) -> None:
        # The group may be empty; macOS says "permission" if only the dead leader is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def read_last_lines(log: Path, count: int = 12) -> str:
    """Return the end of a log, indented, to print below a message."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8_000))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-count:])


def bound_log(log: Path) -> None:
    """Move the end of a log that is too long to NAME.1 and empty it; its writer continues.

    A service keeps its log open, so it cannot be renamed. Lines that are written in the moment
    between the two are lost.
    """
    if not log.exists() or log.stat().st_size <= MAX_LOG_BYTES:
        return
    older = log.with_name(log.name + ".1")
    older.unlink(missing_ok=True)  # first, for its space: the disk may be full
    with contextlib.suppress(OSError), log.open("rb") as source, older.open("wb") as target:
        source.seek(-MAX_LOG_BYTES, os.SEEK_END)
        target.write(source.read(MAX_LOG_BYTES))
    os.truncate(log, 0)


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
            # Safe here: we start no threads, and the hook makes only two system calls.
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
    """Return a hook that has the kernel signal the child when the parent dies (Linux only)."""
    libc = _libc
    if libc is None:
        return None
    parent = os.getpid()

    def set_death_signal() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(orphan_signal))
        if os.getppid() != parent:
            os._exit(1)

    return set_death_signal
