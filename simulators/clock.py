"""The vendors' clock: seconds since time zero. It can be advanced and sped up."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime


class Clock:
    """Starts at 0, runs `speed` times as fast as its source, and can be advanced.

    Time zero is when the source reads `started`; the default is now.
    """

    def __init__(
        self,
        *,
        speed: float = 1,
        source: Callable[[], float] = time.monotonic,
        started: float | None = None,
    ) -> None:
        self._speed, self._source = speed, source
        self._started = source() if started is None else started
        self._offset = 0.0

    @classmethod
    def since(cls, start: datetime, *, speed: float = 1) -> Clock:
        """A clock that keeps its time across restarts of the process."""
        # Not the monotonic clock: it restarts with the machine.
        return cls(speed=speed, source=time.time, started=start.timestamp())

    def now(self) -> float:
        return (self._source() - self._started) * self._speed + self._offset

    def advance(self, seconds: float) -> None:
        self._offset += seconds
