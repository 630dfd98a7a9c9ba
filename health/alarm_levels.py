"""The success rates of a run at which the detector warns and alarms, for charts."""

from __future__ import annotations

from bisect import bisect_left
from math import log

from health.detector import PROBE, QUIET, WARN, Lane, log_mean, log_ratios, step_sums


def warning_level(
    reference: float, trials: int, log_threshold: float, lane: Lane = PROBE
) -> float | None:
    """The highest success rate of one run that warns after quiet runs; None if no rate does."""
    return _highest_rate(reference, trials, log_threshold, lane, runs=1, threshold=log(WARN))


def alarm_level(
    reference: float, trials: int, log_threshold: float, lane: Lane = PROBE
) -> float | None:
    """The highest success rate that raises the alarm if two runs in a row have it."""
    return _highest_rate(reference, trials, log_threshold, lane, runs=2, threshold=log_threshold)


def _highest_rate(  # noqa: PLR0913 -- the run, its reference, and the threshold
    reference: float, trials: int, log_threshold: float, lane: Lane, *, runs: int, threshold: float
) -> float | None:
    def is_quiet(successes: int) -> bool:
        sums = QUIET
        for _ in range(runs):
            sums = step_sums(
                sums, log_ratios(successes, trials, reference, log_threshold, lane=lane)
            )
        return log_mean(sums) + 1e-12 < threshold

    # More successes lower the sums, so the counts that reach the threshold come first.
    first_quiet = bisect_left(range(trials + 1), True, key=is_quiet)
    return (first_quiet - 1) / trials if first_quiet and trials else None
