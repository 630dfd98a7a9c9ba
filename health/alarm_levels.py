"""Which rate of a run would be warned of, so that a chart can show where trouble begins."""

from __future__ import annotations

from bisect import bisect_left
from math import log

from health.detector import PROBE, QUIET, WARN, Lane, log_mean, log_ratios, step_sums


def warning_level(
    reference: float, trials: int, log_threshold: float, lane: Lane = PROBE
) -> float | None:
    """The highest success rate of one run, after quiet ones, that is warned of; None: no rate."""
    return _highest(reference, trials, log_threshold, lane, runs=1, reach=log(WARN))


def alarm_level(
    reference: float, trials: int, log_threshold: float, lane: Lane = PROBE
) -> float | None:
    """The highest success rate that raises the alarm when two runs in a row have it."""
    return _highest(reference, trials, log_threshold, lane, runs=2, reach=log_threshold)


def _highest(  # noqa: PLR0913 -- the run, what it is judged by, and how far the sums must come
    reference: float, trials: int, log_threshold: float, lane: Lane, *, runs: int, reach: float
) -> float | None:
    def is_quiet(successes: int) -> bool:
        sums = QUIET
        for _ in range(runs):
            sums = step_sums(
                sums, log_ratios(successes, trials, reference, log_threshold, lane=lane)
            )
        return log_mean(sums) + 1e-12 < reach

    # More successes make it quieter, so those that are not come first.
    loud = bisect_left(range(trials + 1), True, key=is_quiet)
    return (loud - 1) / trials if loud and trials else None
