"""A circuit breaker per endpoint, about availability alone: how well it calls tools is measured.

Each process has its own. Open, it answers at once and lets one request at a time try again later.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW_S = 30.0
MIN_REQUESTS = 20
FAILURE_SHARE = 0.5
CONNECT_FAILURES = 5
FIRST_PAUSE_S = 15.0
LONGEST_PAUSE_S = 300.0
CLOSING_SUCCESSES = 3


@dataclass
class Breaker:
    """Whether requests may go to one endpoint."""

    clock: Callable[[], float]
    _outcomes: deque[tuple[float, bool]] = field(default_factory=deque)
    _connect_failures: int = 0
    _openings: int = 0
    _open_until: float = 0.0
    _is_trying: bool = False
    _successes: int = 0

    def wait_s(self) -> float:
        """How long to wait before the next request; 0 if one may go now."""
        if not self._openings:
            return 0.0
        left = self._open_until - self.clock()
        if left > 0:
            return left
        return 1.0 if self._is_trying else 0.0

    def begin(self) -> None:
        """A request goes out."""
        self._is_trying = bool(self._openings)

    def record(self, *, is_up: bool, is_connect: bool = False) -> None:
        """The outcome of a request: an answer below 500 is up."""
        self._is_trying = False
        self._connect_failures = self._connect_failures + 1 if is_connect else 0
        now = self.clock()
        self._outcomes.append((now, is_up))
        while self._outcomes and self._outcomes[0][0] < now - WINDOW_S:
            self._outcomes.popleft()
        if self._openings:
            self._record_try(is_up=is_up)
        elif not is_up and self._is_failing():
            self._open()

    def _record_try(self, *, is_up: bool) -> None:
        self._successes = self._successes + 1 if is_up else 0
        if not is_up:
            self._open()
        elif self._successes >= CLOSING_SUCCESSES:
            self._openings, self._successes = 0, 0
            self._outcomes.clear()

    def _is_failing(self) -> bool:
        if self._connect_failures >= CONNECT_FAILURES:
            return True
        failures = sum(not is_up for _, is_up in self._outcomes)
        return len(self._outcomes) >= MIN_REQUESTS and failures >= FAILURE_SHARE * len(
            self._outcomes
        )

    def _open(self) -> None:
        pause = min(FIRST_PAUSE_S * 2**self._openings, LONGEST_PAUSE_S)
        self._openings += 1
        self._open_until = self.clock() + pause * (0.9 + 0.2 * random.random())  # noqa: S311
