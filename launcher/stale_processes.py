"""Processes of an earlier start that was killed before it could stop them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path


def end_process(pid: int, stop_signal: signal.Signals, seconds: float = 20.0) -> None:
    """Signal a process that is not our child, wait for its end, and kill it on timeout."""
    for signum, limit in ((stop_signal, seconds), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if command_line(pid) == "":
                return
            time.sleep(0.02)


def command_line(pid: int) -> str:
    """Return the command line of a process; empty if there is no such process."""
    proc = Path("/proc", str(pid), "cmdline")
    if Path("/proc/self/cmdline").exists():
        try:
            return proc.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    output = subprocess.run(
        ["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return output.stdout.strip()
