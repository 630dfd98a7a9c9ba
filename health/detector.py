"""Sequential detection of a success rate that fell below its baseline.

A mixture of Shiryaev-Roberts sums over four alternatives. Each run multiplies a sum by the
likelihood ratio of its trials under a lower rate and under the reference. For a healthy endpoint
that ratio is at most one on average, so the mean time to a false alarm is at least the threshold,
however often the sums are checked. The trials of one run are correlated and count for less than
their number. docs/detection.md explains the method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import exp, inf, log, log1p

from health.beta import log_beta, quantile

# Of the published tables, and of `toolgauge detect`; health.watch_step counts those of a profile.
METRICS = 7
FALSE_ALARMS = 0.5  # per profile per year, over all its metrics
WARN = 30.0
RECOVERY_ODDS = 100.0
HIGHEST_RHO = 0.3
LOWEST_REFERENCE, LOWEST_ALTERNATIVE = 0.02, 0.01
# The reference is this quantile of the baseline's posterior: the mean of a lucky baseline would
# raise false alarms for ever.
REFERENCE_QUANTILE = 0.10
# The longest baseline, as a multiple of the usual one.
LONGEST_BASELINE = 3


class BaselineState(StrEnum):
    """How far the baseline is learned."""

    NONE = "none"
    PROVISIONAL = "provisional"
    FROZEN = "frozen"


class Verdict(StrEnum):
    """The verdict of the sums after a run."""

    OK = "ok"
    WARN = "warn"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class Lane:
    """The detector's settings for one source of trials."""

    rho: float  # correlation between the trials of one run
    highest: float  # upper limit of the reference
    drops: tuple[float, ...]  # alternatives: reference minus the drop
    shares: tuple[float, ...]  # alternatives: reference times the share
    provisional: int  # trials of a provisional baseline
    frozen: int  # trials of a frozen baseline, which also needs
    runs: int  # this many runs
    runs_per_year: float  # the cadence that these numbers are for
    # Whether a rate below an absolute gate is an alarm here. In the other lane it turns the
    # capability off.
    alarms_at_gate: bool = False

    def at_cadence(self, runs_per_year: float) -> Lane:
        """The lane at another cadence: frequent runs need a longer baseline.

        A profile whose baseline was lucky raises a false alarm every so many runs, so more runs
        per year need a reference that is closer to the true rate.
        """
        factor = min(max(round(runs_per_year / self.runs_per_year), 1), LONGEST_BASELINE)
        return replace(self, frozen=self.frozen * factor, runs=self.runs * factor)


PROBE = Lane(
    rho=0.10,
    highest=0.99,
    drops=(0.10, 0.20),
    shares=(0.5, 0.1),
    provisional=30,
    frozen=200,
    runs=20,
    runs_per_year=1460,
)
# A run is five minutes of live traffic; 576 of them are two days.
LIVE = Lane(
    rho=0.02,
    highest=0.995,
    drops=(0.02, 0.05, 0.20),
    shares=(0.5,),
    provisional=1000,
    frozen=4000,
    runs=576,
    runs_per_year=105_120,
    alarms_at_gate=True,
)

LogSums = tuple[float, ...]
QUIET: LogSums = (-inf, -inf, -inf, -inf)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The trials that define the normal rate."""

    successes: int = 0
    trials: int = 0
    runs: int = 0

    def plus(self, successes: int, trials: int) -> Baseline:
        return Baseline(self.successes + successes, self.trials + trials, self.runs + 1)

    def known(self, lane: Lane = PROBE) -> BaselineState:
        if self.trials < lane.provisional:
            return BaselineState.NONE
        enough = self.trials >= lane.frozen and self.runs >= lane.runs
        return BaselineState.FROZEN if enough else BaselineState.PROVISIONAL

    def reference(
        self, lane: Lane = PROBE, *, per_run: float | None = None, rho: float | None = None
    ) -> float:
        """The normal rate: a low quantile of the posterior, within the limits of the lane."""
        width = per_run or self.trials / max(self.runs, 1)
        weight = 1 / (1 + max(width - 1, 0) * (lane.rho if rho is None else rho))
        good, bad = self.successes * weight, (self.trials - self.successes) * weight
        return min(
            max(quantile(REFERENCE_QUANTILE, 0.5 + good, 0.5 + bad), LOWEST_REFERENCE), lane.highest
        )


def alarm_threshold(runs_per_year: float, *, metrics: int = METRICS) -> float:
    """The log threshold at which the mean of the sums raises the alarm."""
    return log(metrics * max(runs_per_year, 1) / FALSE_ALARMS)


def alternatives(reference: float, lane: Lane = PROBE) -> tuple[float, ...]:
    """The lower rates that the sums test."""
    lower = [reference - drop for drop in lane.drops] + [reference * s for s in lane.shares]
    return tuple(max(rate, LOWEST_ALTERNATIVE) for rate in lower)


def log_likelihood(successes: int, trials: int, rate: float, rho: float) -> float:
    """The beta-binomial log likelihood of the successes of a run, up to a constant."""
    weight = (1 - rho) / rho
    good, bad = rate * weight, (1 - rate) * weight
    return log_beta(good + successes, bad + trials - successes) - log_beta(good, bad)


def log_ratios(  # noqa: PLR0913 -- the run, its reference, and the lane
    successes: int,
    trials: int,
    reference: float,
    log_threshold: float,
    *,
    lane: Lane = PROBE,
    rho: float | None = None,
) -> LogSums:
    """The log likelihood ratio of each alternative, capped: no single run raises the alarm."""
    rho = lane.rho if rho is None else rho
    cap = (log_threshold + log(len(QUIET))) / 2
    normal = log_likelihood(successes, trials, reference, rho)
    return tuple(
        min(log_likelihood(successes, trials, rate, rho) - normal, cap)
        for rate in alternatives(reference, lane)
    )


def step_sums(sums: LogSums, ratios: LogSums) -> LogSums:
    """The sums after a run: R becomes (1 + R) times the ratio."""
    return tuple(_log1p_exp(s) + ratio for s, ratio in zip(sums, ratios, strict=True))


def log_mean(sums: LogSums) -> float:
    """The log of the mean of the sums, which is compared with the thresholds."""
    top = max(sums)
    if top == -inf:
        return -inf
    return top + log(sum(exp(s - top) for s in sums) / len(sums))


def judge_sums(sums: LogSums, log_threshold: float) -> Verdict:
    """Compare the sums with the thresholds. Equality counts: two capped runs raise the alarm."""
    reached = log_mean(sums) + 1e-12
    if reached >= log_threshold:
        return Verdict.ALARM
    return Verdict.WARN if reached >= log(WARN) else Verdict.OK


def recovery_ratio(
    successes: int, trials: int, reference: float, *, lane: Lane = PROBE, rho: float | None = None
) -> float:
    """The log likelihood ratio of the reference against the mildest alternative."""
    rho = lane.rho if rho is None else rho
    mildest = alternatives(reference, lane)[0]
    return log_likelihood(successes, trials, reference, rho) - log_likelihood(
        successes, trials, mildest, rho
    )


def _log1p_exp(value: float) -> float:
    """log(1 + exp(value)) without overflow."""
    return value + log1p(exp(-value)) if value > 0 else log1p(exp(value))
