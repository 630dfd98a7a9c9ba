"""Looking at the machine's processes from tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def processes_of(folder: Path) -> list[str]:
    """Return the command lines of processes that name the folder, in arguments or environment."""
    wanted = str(folder).encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes()
            if wanted in arguments or wanted in (process / "environ").read_bytes():
                found.append(arguments.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    """Return whether the condition came true; the limit only keeps a broken test from hanging."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
