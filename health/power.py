"""How small a drop the detector can find at all, so that nobody believes more than it says.

The sums grow each run by what the run tells the lower rate from the reference: the divergence
between the two distributions of its successes. The alarm is that many runs away from quiet, and
one more, because the run that crosses it does so by its half. Runs that confirm a warning count as
runs here, and halve the time.
"""

from __future__ import annotations

from math import exp, inf, lgamma

from health.detector import PROBE, Lane, log_likelihood

FEWEST_RUNS = 2.0  # no single run raises the alarm
_HALVINGS = 40


def runs_to_find(
    reference: float, rate: float, trials: int, log_threshold: float, lane: Lane = PROBE
) -> float:
    """The mean number of runs until the alarm, from the first run at the lower rate on."""
    if rate >= reference or trials < 1:
        return inf
    told = divergence(rate, reference, trials, lane.rho)
    return max(1 + log_threshold / told, FEWEST_RUNS) if told else inf


def detectable_drop(
    reference: float,
    trials: int,
    log_threshold: float,
    within_runs: float,
    lane: Lane = PROBE,
) -> float | None:
    """The smallest drop below the reference that is found within so many runs on average.

    None where not even a rate of zero would be.
    """
    if runs_to_find(reference, 0.0, trials, log_threshold, lane) > within_runs:
        return None
    found, missed = reference, 0.0
    for _ in range(_HALVINGS):
        drop = (found + missed) / 2
        if runs_to_find(reference, reference - drop, trials, log_threshold, lane) <= within_runs:
            found = drop
        else:
            missed = drop
    return found


def divergence(rate: float, reference: float, trials: int, rho: float) -> float:
    """What a run at the rate tells on average against the reference, in nats."""
    if rate <= 0:
        return -log_likelihood(0, trials, reference, rho)
    told = 0.0
    for successes in range(trials + 1):
        true = log_likelihood(successes, trials, rate, rho)
        taken = log_likelihood(successes, trials, reference, rho)
        told += exp(log_ways(trials, successes) + true) * (true - taken)
    return told


def log_ways(trials: int, successes: int) -> float:
    """The logarithm of the number of ways in which so many trials succeed."""
    return lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1)
