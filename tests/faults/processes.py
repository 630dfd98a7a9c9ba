"""Workers and beats as real processes that can be killed, frozen and terminated."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.preloaded import start_program


class ProcessGroup:
    """A process and its children, in their own process group."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str]) -> None:
        self.log = log
        with log.open("ab") as out:
            self._popen = start_program(command, env, out)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def is_up(self) -> bool:
        return self._popen.poll() is None

    def signal(self, signum: signal.Signals) -> None:
        """Signal every process of the group."""
        os.killpg(self.pid, signum)

    def kill(self) -> None:
        """SIGKILL every process of the group: none of them can clean up."""
        self.signal(signal.SIGKILL)
        self._popen.wait()

    def terminate(self) -> None:
        """SIGTERM to the leader alone, as a supervisor or a container does."""
        self._popen.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 60) -> int:
        return self._popen.wait(seconds)

    def end(self) -> None:
        """Clean up after a test, including children of a leader that was killed alone."""
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self._popen.wait()

    def has_logged(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")


def signal_one(owner: str, signum: signal.Signals, groups: Sequence[ProcessGroup]) -> int | None:
    """Signal the process that a lease names as `host:process`, only if it is one of ours.

    Returns its pid, or None if there is no such process.
    """
    pid = int(owner.rsplit(":", 1)[1])
    try:
        if os.getpgid(pid) not in {group.pid for group in groups}:
            return None
        os.kill(pid, signum)
    except ProcessLookupError:
        return None
    return pid
