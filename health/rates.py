"""Rates with their interval, and the good direction of each metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from types import MappingProxyType

from probes.outcomes import Metric


class Direction(StrEnum):
    """Which end of a rate is good."""

    HIGH = "high"
    LOW = "low"


# Between the trials of one run, as measured by `python -m benchmarks.coverage`, rounded up.
CORRELATION = 0.01

DIRECTIONS: Mapping[Metric, Direction] = MappingProxyType(
    {
        Metric.PARSE_SUCCESS: Direction.HIGH,
        Metric.SCHEMA_FAILURE: Direction.LOW,
        Metric.CLOSURE_ERROR: Direction.LOW,
        Metric.REASONING_REPLAY_ERROR: Direction.LOW,
        Metric.REPAIR_SUCCESS: Direction.HIGH,
        Metric.PARALLEL_DOWNGRADE: Direction.LOW,
        Metric.UNSAFE_BLOCKED: Direction.LOW,
        Metric.AVAILABILITY: Direction.HIGH,
        Metric.LEAK: Direction.LOW,
        Metric.REASONING_ONLY: Direction.LOW,
        Metric.STREAM_DISAGREEMENT: Direction.LOW,
        Metric.RESULT_USE: Direction.HIGH,
        Metric.VALUE_FIDELITY: Direction.HIGH,
    }
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A metric over some trials. `failures` are bad trials, also where low is good.

    Without trials there is no value and no interval: "no data" is not zero.
    """

    trials: int
    failures: int
    good: Direction = Direction.HIGH

    def __post_init__(self) -> None:
        if not 0 <= self.failures <= self.trials:
            raise ValueError(f"{self.failures} failures do not fit into {self.trials} trials")

    @property
    def count(self) -> int:
        """The displayed numerator: successes where high is good, failures where low is good."""
        return self.trials - self.failures if self.good is Direction.HIGH else self.failures

    @property
    def value(self) -> float | None:
        return self.count / self.trials if self.trials else None

    @property
    def low(self) -> float | None:
        return rate_interval(self.count, self.trials)[0] if self.trials else None

    @property
    def high(self) -> float | None:
        return rate_interval(self.count, self.trials)[1] if self.trials else None

    def is_worse_than(self, bar: float) -> bool:
        """Whether the rate is on the bad side of a bar; False without trials."""
        if self.value is None:
            return False
        return self.value < bar if self.good is Direction.HIGH else self.value > bar


def metric_rate(metric: Metric, trials: int, failures: int) -> Rate:
    """The rate of a metric, with the direction of the metric."""
    return Rate(trials, failures, DIRECTIONS[metric])


def rate_interval(count: int, trials: int) -> tuple[float, float]:
    """The displayed 95 % interval: Wilson's, for slightly correlated trials.

    The calls of one answer, and the answers of one run, fail together more often than by chance,
    so their effective number is smaller.
    """
    return wilson(count, trials, independent=trials / (1 + (trials - 1) * CORRELATION))


def wilson(
    successes: int, trials: int, z: float = 1.96, *, independent: float | None = None
) -> tuple[float, float]:
    """The Wilson score interval of a proportion; 95 % by default.

    `independent` is the effective number of trials where they are correlated.
    """
    if trials < 1:
        raise ValueError("an interval needs at least one trial")
    share, weight = successes / trials, independent or trials
    spread = z * z / weight
    middle = share + spread / 2
    half = z * sqrt(share * (1 - share) / weight + spread / (4 * weight))
    # Rounding would miss 0 and 1 by a hair.
    low = (middle - half) / (1 + spread) if successes else 0.0
    high = (middle + half) / (1 + spread) if successes < trials else 1.0
    return low, high
