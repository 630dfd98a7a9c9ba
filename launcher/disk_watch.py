"""Says on the terminal when the disk of the data folder is full: no log can say it then."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from launcher.console import PrintLine, service_line

# Four segments of Postgres's write-ahead log.
MIN_FREE_BYTES = 64 * 1024**2
SECONDS = 5.0


class DiskWatch:
    """Looks at the free space every few seconds and prints each change."""

    def __init__(self, folder: Path, say: PrintLine, *, min_free: int = MIN_FREE_BYTES) -> None:
        self._folder = folder
        self._say = say
        self._min_free = min_free
        self._is_full = False
        self._look_at = 0.0

    def tick(self) -> None:
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + SECONDS
            self._look()

    def _look(self) -> None:
        free = shutil.disk_usage(self._folder).free
        is_full = free < self._min_free
        if is_full == self._is_full:
            return
        self._is_full = is_full
        left = f"{free // 1024**2} MB free on the disk of {self._folder}"
        if is_full:
            advice = "Free some: everything waits and then continues by itself."
            self._say(service_line("disk", "full", f"{left}. {advice}"))
        else:
            self._say(service_line("disk", "ok", left))
