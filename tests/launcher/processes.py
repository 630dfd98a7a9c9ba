"""The machine's processes, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes that name the folder, in arguments or environment."""
    needle = str(folder).encode()
    command_lines = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes()
            if needle in arguments or needle in (process / "environ").read_bytes():
                command_lines.append(arguments.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return command_lines


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Return whether the condition became true; the limit only stops a broken test."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
