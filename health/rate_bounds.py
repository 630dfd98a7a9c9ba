"""Bounds of a success rate, with the quantiles that the detector uses.

The lower bound is p_ref, the reference that the detector would derive from these trials.
"""

from __future__ import annotations

from health.beta import quantile
from health.detector import REFERENCE_QUANTILE, Baseline, Lane
from health.gate_result import TrialCounts

# Beyond this many trials a rate counts as too close to settle.
MAX_TRIALS = 50_000


def success_bounds(counts: TrialCounts, lane: Lane) -> tuple[float, float]:
    """The lower and the upper bound of a success rate with at least one trial."""
    return _bounds(counts.trials - counts.failures, counts.trials, _per_run(counts), lane)


def reference_rate(counts: TrialCounts, lane: Lane) -> float:
    """The reference that these trials would give: p_ref."""
    return Baseline(counts.trials - counts.failures, counts.trials, counts.runs).reference(lane)


def trials_to_settle(counts: TrialCounts, bar: float, lane: Lane) -> int | None:
    """About how many more trials at this rate settle it against the bar; None if too many."""
    rate, width = 1 - counts.failures / counts.trials, _per_run(counts)

    def is_settled(trials: int) -> bool:
        low, high = _bounds(rate * trials, trials, width, lane)
        return low >= bar or high < bar

    if not is_settled(MAX_TRIALS):
        return None
    few, many = counts.trials, MAX_TRIALS
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_settled(middle) else (middle, many)
    return max(many - counts.trials, 1)


def _per_run(counts: TrialCounts) -> float:
    return counts.trials / max(counts.runs, 1)


def _bounds(good: float, trials: float, per_run: float, lane: Lane) -> tuple[float, float]:
    # As in Baseline.reference: correlated trials of one run count for less.
    weight = 1 / (1 + max(per_run - 1, 0) * lane.rho)
    a, b = 0.5 + good * weight, 0.5 + (trials - good) * weight
    low = min(max(quantile(REFERENCE_QUANTILE, a, b), 0.0), lane.highest)
    return low, max(quantile(1 - REFERENCE_QUANTILE, a, b), low)
