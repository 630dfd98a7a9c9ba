"""The vendors' own clock: seconds since they started; a test or a demo may move or speed it up."""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """Runs `speed` times as fast as the machine's, and can be moved forward."""

    def __init__(self, *, speed: float = 1, source: Callable[[], float] = time.monotonic) -> None:
        self._speed, self._source = speed, source
        self._started, self._moved = source(), 0.0

    def now(self) -> float:
        return (self._source() - self._started) * self._speed + self._moved

    def advance(self, seconds: float) -> None:
        self._moved += seconds
