"""Between which rates the truth lies when some trials went well: the detector's own caution.

The lower end is the reference that the detector would take from these trials, p_ref.
"""

from __future__ import annotations

from health.beta import quantile
from health.detector import CAUTION, Baseline, Lane
from health.gate_result import TrialCounts

# More trials than this nobody waits for.
MOST_TRIALS = 50_000


def success_bounds(found: TrialCounts, lane: Lane) -> tuple[float, float]:
    """The lower and the upper end of the success rate; there is at least one trial."""
    return _bounds(found.trials - found.failures, found.trials, _per_run(found), lane)


def reference_rate(found: TrialCounts, lane: Lane) -> float:
    """The rate that would be taken for normal: p_ref."""
    return Baseline(found.trials - found.failures, found.trials, found.runs).reference(lane)


def trials_to_settle(found: TrialCounts, bar: float, lane: Lane) -> int | None:
    """About how many more trials of the same rate lie beyond the bar; None is too many."""
    rate, width = 1 - found.failures / found.trials, _per_run(found)

    def is_settled(trials: int) -> bool:
        low, high = _bounds(rate * trials, trials, width, lane)
        return low >= bar or high < bar

    if not is_settled(MOST_TRIALS):
        return None
    few, many = found.trials, MOST_TRIALS
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if is_settled(middle) else (middle, many)
    return max(many - found.trials, 1)


def _per_run(found: TrialCounts) -> float:
    return found.trials / max(found.runs, 1)


def _bounds(good: float, trials: float, per_run: float, lane: Lane) -> tuple[float, float]:
    # As Baseline.reference has it: the trials of one run hang together and count for less.
    weight = 1 / (1 + max(per_run - 1, 0) * lane.rho)
    a, b = 0.5 + good * weight, 0.5 + (trials - good) * weight
    low = min(max(quantile(CAUTION, a, b), 0.0), lane.highest)
    return low, max(quantile(1 - CAUTION, a, b), low)
