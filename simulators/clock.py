"""The vendors' own clock: seconds since their story began; it can be moved and sped up."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime


class Clock:
    """Runs `speed` times as fast as its source, from nought, and can be moved forward.

    The story begins when the source shows `started`, which is now unless told.
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
        self._moved = 0.0

    @classmethod
    def since(cls, began: datetime, *, speed: float = 1) -> Clock:
        """A clock that goes on where the story stands, however often its process is restarted."""
        # Not the monotonic clock: that one begins anew with the machine.
        return cls(speed=speed, source=time.time, started=began.timestamp())

    def now(self) -> float:
        return (self._source() - self._started) * self._speed + self._moved

    def advance(self, seconds: float) -> None:
        self._moved += seconds
