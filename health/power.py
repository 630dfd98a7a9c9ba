"""The power of the detector: the smallest drop that it detects within a number of runs.

On average each run adds to the sums the divergence between the distributions of its successes
at the lower rate and at the reference. The alarm takes the threshold divided by that, plus one
run, because the last run overshoots the threshold by half on average. Confirmation runs count as
runs here, and halve the time.
"""

from __future__ import annotations

from math import exp, inf, lgamma

from health.detector import PROBE, Lane, log_likelihood

MIN_RUNS = 2.0  # no single run raises the alarm
_HALVINGS = 40


def runs_to_detect(
    reference: float, rate: float, trials: int, log_threshold: float, lane: Lane = PROBE
) -> float:
    """The mean number of runs until the alarm, counted from the first run at the lower rate."""
    if rate >= reference or trials < 1:
        return inf
    information = divergence(rate, reference, trials, lane.rho)
    return max(1 + log_threshold / information, MIN_RUNS) if information else inf


def detectable_drop(
    reference: float,
    trials: int,
    log_threshold: float,
    within_runs: float,
    lane: Lane = PROBE,
) -> float | None:
    """The smallest drop below the reference that is detected within this many runs on average.

    None if not even a rate of zero is.
    """
    if runs_to_detect(reference, 0.0, trials, log_threshold, lane) > within_runs:
        return None
    detected, missed = reference, 0.0
    for _ in range(_HALVINGS):
        drop = (detected + missed) / 2
        if runs_to_detect(reference, reference - drop, trials, log_threshold, lane) <= within_runs:
            detected = drop
        else:
            missed = drop
    return detected


def divergence(rate: float, reference: float, trials: int, rho: float) -> float:
    """The mean information of a run at the rate against the reference, in nats."""
    if rate <= 0:
        return -log_likelihood(0, trials, reference, rho)
    information = 0.0
    for successes in range(trials + 1):
        log_actual = log_likelihood(successes, trials, rate, rho)
        log_reference = log_likelihood(successes, trials, reference, rho)
        information += exp(log_binomial(trials, successes) + log_actual) * (
            log_actual - log_reference
        )
    return information


def log_binomial(trials: int, successes: int) -> float:
    """The logarithm of the binomial coefficient."""
    return lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1)
