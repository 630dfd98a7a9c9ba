"""The correlation between the trials of one run, estimated from the healthy runs of a month."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import sqrt

from health.detector import HIGHEST_RHO

ESTIMATE_EVERY = timedelta(days=30)
MIN_RUNS = 30
_EIGHTY_PERCENT = 0.8416


@dataclass(frozen=True, slots=True)
class Spread:
    """Sums over runs from which their variance is estimated."""

    since: datetime | None = None
    runs: int = 0
    successes: int = 0
    trials: int = 0
    squares: float = 0.0  # of successes, each divided by the run's trials

    def plus(self, successes: int, trials: int, at: datetime) -> Spread:
        if trials < 2:
            return self
        return replace(
            self,
            since=self.since or at,
            runs=self.runs + 1,
            successes=self.successes + successes,
            trials=self.trials + trials,
            squares=self.squares + successes * successes / trials,
        )

    def is_due(self, at: datetime) -> bool:
        """Whether a month has passed with enough runs."""
        return (
            self.since is not None and at - self.since >= ESTIMATE_EVERY and self.runs >= MIN_RUNS
        )


def correlation_lower_bound(spread: Spread) -> float:
    """The lower 80 % confidence bound of the correlation; 0 if the spread proves none."""
    rate = (spread.successes + 0.5) / (spread.trials + 1)
    width = spread.trials / spread.runs
    variance = rate * (1 - rate)
    scatter = (
        spread.squares - 2 * rate * spread.successes + rate * rate * spread.trials
    ) / variance
    per_run = scatter / spread.runs
    # The standard error of the mean squared deviation; rare failures increase it.
    noise = sqrt((2 + max(1 / (width * variance) - 6 / width, 0)) / spread.runs)
    return max((per_run * (1 - _EIGHTY_PERCENT * noise) - 1) / (width - 1), 0.0)


def raise_correlation(rho: float, spread: Spread) -> float:
    """The correlation to use from now on: never lower than before, at most `HIGHEST_RHO`."""
    return max(rho, min(correlation_lower_bound(spread), HIGHEST_RHO))
