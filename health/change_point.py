"""The runs since a degradation began.

The earlier runs of a window were good: averaged with the bad ones, they would make a collapse look
mild until they have left the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from health.detector import Lane, alternatives, log_likelihood

# Successes and trials of one run.
RunCount = tuple[int, int]


def runs_since_change(
    runs: Sequence[RunCount], reference: float, lane: Lane, *, rho: float | None = None
) -> tuple[RunCount, ...]:
    """The newest runs that a lower rate explains best, compared with the reference; one at least.

    The likeliest beginning over all alternatives of the detector.
    """
    rho = lane.rho if rho is None else rho
    begins = (
        _likeliest_start(runs, reference, lower, rho) for lower in alternatives(reference, lane)
    )
    _, length = max(begins)
    return tuple(runs[-length:])


def mean_rate(runs: Sequence[RunCount]) -> float:
    """The mean success rate per run: a full run weighs no more than a light one."""
    return sum(good / trials for good, trials in runs) / len(runs)


def _likeliest_start(
    runs: Sequence[RunCount], reference: float, lower: float, rho: float
) -> tuple[float, int]:
    """The highest log likelihood ratio of the newest runs together, and the number of them."""
    ratios = (
        log_likelihood(good, trials, lower, rho) - log_likelihood(good, trials, reference, rho)
        for good, trials in reversed(runs)
    )
    return max((total, length) for length, total in enumerate(accumulate(ratios), start=1))
