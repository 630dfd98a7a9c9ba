"""Simulated runs with a known true rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
BASELINE_TRIALS = 200


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of this many trials, correlated by rho."""

    rng: np.random.Generator
    trials: int
    rho: float

    def successes(self, rate: float, size: int | tuple[int, int]) -> Counts:
        """The successes of `size` runs with one true rate."""
        if self.rho == 0 or rate in (0.0, 1.0):
            return self.rng.binomial(self.trials, rate, size)
        weight = (1 - self.rho) / self.rho
        rates = self.rng.beta(rate * weight, (1 - rate) * weight, size)
        return self.rng.binomial(self.trials, rates)

    def baselines(self, rate: float, replicates: int, trials: int = BASELINE_TRIALS) -> Counts:
        """The successes of this many baselines, each from its own runs."""
        run_successes = self.successes(rate, (replicates, trials // self.trials))
        successes: Counts = run_successes.sum(axis=1)
        return successes
