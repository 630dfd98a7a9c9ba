"""When a fault acts: probability, start, end, ramp and repetition."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FaultSchedule:
    """Times are seconds since the vendors started. Active for `lasts` of every `every` seconds."""

    p: float = 1
    seed: int = 0
    start: float = 0
    end: float | None = None
    ramp: float = 0
    every: float = 0
    lasts: float = 0

    def share(self, now: float) -> float:
        """The share of answers that the fault affects at that time."""
        age = now - self.start
        if age < 0 or (self.end is not None and now >= self.end):
            return 0
        if self.every and age % self.every >= self.lasts:
            return 0
        return self.p * min(age / self.ramp, 1) if self.ramp else self.p

    def acts(self, now: float, key: str) -> bool:
        """Whether the fault acts on one answer; the same key gives the same result."""
        share = self.share(now)
        return share >= 1 or random.Random(f"{self.seed}/{key}").random() < share
