"""Workers and beats as real processes that can be killed, frozen and asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from launcher.services import ROOT


class Group:
    """A process with all that it starts, in a group of its own."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str]) -> None:
        self.log = log
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                command,
                cwd=ROOT,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    def is_up(self) -> bool:
        return self._popen.poll() is None

    def signal(self, how: signal.Signals) -> None:
        """Signal every process of the group."""
        os.killpg(self.pid, how)

    def kill(self) -> None:
        """SIGKILL for every process of the group: nothing gets to clean up."""
        self.signal(signal.SIGKILL)
        self._popen.wait()

    def ask_to_stop(self) -> None:
        """SIGTERM to the leader alone, as a supervisor or a container does."""
        self._popen.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = 60) -> int:
        return self._popen.wait(seconds)

    def end(self) -> None:
        """For the end of a test; children of a leader that was killed alone go with it."""
        with suppress(ProcessLookupError):
            self.signal(signal.SIGKILL)
        self._popen.wait()

    def said(self, text: str) -> bool:
        return text in self.log.read_text(errors="replace")


def signal_one(owner: str, how: signal.Signals, groups: Sequence[Group]) -> int | None:
    """Signal the process that a lease names as `host:process`, only if it is one of ours.

    Returns its number, None where there is no such process.
    """
    pid = int(owner.rsplit(":", 1)[1])
    try:
        if os.getpgid(pid) not in {group.pid for group in groups}:
            return None
        os.kill(pid, how)
    except ProcessLookupError:
        return None
    return pid
