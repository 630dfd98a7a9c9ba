"""Rates with their interval, and which way each metric is good."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from types import MappingProxyType

from probes.outcomes import Metric


class Direction(StrEnum):
    """Which end of a rate is the good one."""

    HIGH = "high"
    LOW = "low"


# Between the trials of one run, as `python -m benchmarks.coverage` finds it, rounded up.
CORRELATION = 0.005

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
    }
)


@dataclass(frozen=True, slots=True)
class Rate:
    """A metric over some trials; `failures` went badly, whichever way the metric is good.

    With no trials there is no value and no interval: "no data" is not nought.
    """

    trials: int
    failures: int
    good: Direction = Direction.HIGH

    def __post_init__(self) -> None:
        if not 0 <= self.failures <= self.trials:
            raise ValueError(f"{self.failures} failures do not fit into {self.trials} trials")

    @property
    def count(self) -> int:
        """The numerator that is shown: successes where high is good, failures where low is."""
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
        """Whether the rate is on the bad side of a bar; without a trial it is not."""
        if self.value is None:
            return False
        return self.value < bar if self.good is Direction.HIGH else self.value > bar


def metric_rate(metric: Metric, trials: int, failures: int) -> Rate:
    """The rate of a metric, with its direction."""
    return Rate(trials, failures, DIRECTIONS[metric])


def rate_interval(count: int, trials: int) -> tuple[float, float]:
    """The 95 % interval that is shown: Wilson's, for trials that hang together a little.

    The calls of one answer, and the answers of one run, go wrong together more often than chance
    has it, so many trials count for somewhat fewer.
    """
    return wilson(count, trials, independent=trials / (1 + (trials - 1) * CORRELATION))


def wilson(
    successes: int, trials: int, z: float = 1.96, *, independent: float | None = None
) -> tuple[float, float]:
    """The Wilson score interval of a proportion; 95 % unless told otherwise.

    `independent` is how many of the trials count, where not all of them do.
    """
    if trials < 1:
        raise ValueError("an interval needs at least one trial")
    share, weight = successes / trials, independent or trials
    spread = z * z / weight
    middle = share + spread / 2
    half = z * sqrt(share * (1 - share) / weight + spread / (4 * weight))
    # Rounding would leave a hair at the ends, on either side of 0 and 1.
    low = (middle - half) / (1 + spread) if successes else 0.0
    high = (middle + half) / (1 + spread) if successes < trials else 1.0
    return low, high
