"""When a fault acts: how often, from when on, growing, coming and going."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FaultSchedule:
    """Times are seconds since the vendors started. `lasts` of every `every` seconds it is on."""

    p: float = 1
    seed: int = 0
    start: float = 0
    end: float | None = None
    ramp: float = 0
    every: float = 0
    lasts: float = 0

    def share(self, now: float) -> float:
        """The share of answers that go wrong at that time."""
        age = now - self.start
        if age < 0 or (self.end is not None and now >= self.end):
            return 0
        if self.every and age % self.every >= self.lasts:
            return 0
        return self.p * min(age / self.ramp, 1) if self.ramp else self.p

    def acts(self, now: float, dice: str) -> bool:
        """Whether it acts on one answer; the same dice fall the same way."""
        share = self.share(now)
        return share >= 1 or random.Random(f"{self.seed}/{dice}").random() < share
