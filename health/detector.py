"""Whether a rate has fallen below its baseline: the sums that grow only when it has.

A mixture of Shiryaev-Roberts sums over four alternatives. Each run multiplies a sum by how much
more likely its trials are under a lower rate than under the baseline's; for a healthy endpoint
that factor is one on average at most, so the mean time to a false alarm is at least the threshold,
however often one looks. docs/detection.md explains it; trials of one run count for less than
their number, because they hang together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log, log1p

from health.beta import log_beta, quantile

METRICS = 7
FALSE_ALARMS = 0.5  # a profile and year, over all its metrics
WARN = 30.0
RECOVERED = 100.0
HIGHEST_RHO = 0.3
LOWEST_REFERENCE, LOWEST_ALTERNATIVE = 0.02, 0.01
# Of the posterior of the baseline: a lucky baseline would raise false alarms for ever.
CAUTION = 0.10


class Known(StrEnum):
    """How much is known about what is normal."""

    NONE = "none"
    PROVISIONAL = "provisional"
    FROZEN = "frozen"


class Verdict(StrEnum):
    """What the sums say after a run."""

    OK = "ok"
    WARN = "warn"
    ALARM = "alarm"


@dataclass(frozen=True, slots=True)
class Lane:
    """How trials of one origin are watched."""

    rho: float  # how much the trials of one run hang together
    highest: float  # no reference above it
    drops: tuple[float, ...]  # alternatives that lie so far below the reference
    shares: tuple[float, ...]  # alternatives that are such a part of it
    provisional: int  # trials from which a baseline is of some use
    frozen: int  # and from which it is final, if there were also
    runs: int  # this many runs


PROBE = Lane(
    rho=0.10,
    highest=0.99,
    drops=(0.10, 0.20),
    shares=(0.5, 0.1),
    provisional=30,
    frozen=200,
    runs=20,
)
# A run is five minutes of live traffic here; 576 of them are two days.
LIVE = Lane(
    rho=0.02,
    highest=0.995,
    drops=(0.02, 0.05, 0.20),
    shares=(0.5,),
    provisional=1000,
    frozen=4000,
    runs=576,
)

LogSums = tuple[float, ...]
QUIET: LogSums = (-inf, -inf, -inf, -inf)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The trials that say what is normal."""

    successes: int = 0
    trials: int = 0
    runs: int = 0

    def plus(self, successes: int, trials: int) -> Baseline:
        return Baseline(self.successes + successes, self.trials + trials, self.runs + 1)

    def known(self, lane: Lane = PROBE) -> Known:
        if self.trials < lane.provisional:
            return Known.NONE
        enough = self.trials >= lane.frozen and self.runs >= lane.runs
        return Known.FROZEN if enough else Known.PROVISIONAL

    def reference(
        self, lane: Lane = PROBE, *, per_run: float | None = None, rho: float | None = None
    ) -> float:
        """The rate that is taken for normal: low in its interval, never beyond the ends."""
        width = per_run or self.trials / max(self.runs, 1)
        weight = 1 / (1 + max(width - 1, 0) * (lane.rho if rho is None else rho))
        good, bad = self.successes * weight, (self.trials - self.successes) * weight
        return min(max(quantile(CAUTION, 0.5 + good, 0.5 + bad), LOWEST_REFERENCE), lane.highest)


def alarm_threshold(runs_per_year: float, *, metrics: int = METRICS) -> float:
    """The logarithm of the sum at which the alarm is raised."""
    return log(metrics * max(runs_per_year, 1) / FALSE_ALARMS)


def alternatives(reference: float, lane: Lane = PROBE) -> tuple[float, ...]:
    """The lower rates that the sums look for."""
    lower = [reference - drop for drop in lane.drops] + [reference * s for s in lane.shares]
    return tuple(max(rate, LOWEST_ALTERNATIVE) for rate in lower)


def log_likelihood(successes: int, trials: int, rate: float, rho: float) -> float:
    """Of so many successes, up to a constant, when the trials of a run hang together."""
    weight = (1 - rho) / rho
    good, bad = rate * weight, (1 - rate) * weight
    return log_beta(good + successes, bad + trials - successes) - log_beta(good, bad)


def log_ratios(  # noqa: PLR0913 -- the run, what it is judged by, and the lane
    successes: int,
    trials: int,
    reference: float,
    log_threshold: float,
    *,
    lane: Lane = PROBE,
    rho: float | None = None,
) -> LogSums:
    """How much a run speaks for each alternative; no single run can raise the alarm alone."""
    rho = lane.rho if rho is None else rho
    cap = (log_threshold + log(len(QUIET))) / 2
    normal = log_likelihood(successes, trials, reference, rho)
    return tuple(
        min(log_likelihood(successes, trials, rate, rho) - normal, cap)
        for rate in alternatives(reference, lane)
    )


def step_sums(sums: LogSums, ratios: LogSums) -> LogSums:
    """The sums after a run: R becomes (1 + R) times its ratio."""
    return tuple(_log1p_exp(s) + ratio for s, ratio in zip(sums, ratios, strict=True))


def log_mean(sums: LogSums) -> float:
    """The logarithm of the sums' mean, which is compared with the thresholds."""
    top = max(sums)
    if top == -inf:
        return -inf
    return top + log(sum(exp(s - top) for s in sums) / len(sums))


def judge_sums(sums: LogSums, log_threshold: float) -> Verdict:
    """What the sums say. Equality counts: two capped runs just raise the alarm."""
    reached = log_mean(sums) + 1e-12
    if reached >= log_threshold:
        return Verdict.ALARM
    return Verdict.WARN if reached >= log(WARN) else Verdict.OK


def recovery_ratio(
    successes: int, trials: int, reference: float, *, lane: Lane = PROBE, rho: float | None = None
) -> float:
    """How much a run speaks for the baseline, against the mildest alternative."""
    rho = lane.rho if rho is None else rho
    mildest = alternatives(reference, lane)[0]
    return log_likelihood(successes, trials, reference, rho) - log_likelihood(
        successes, trials, mildest, rho
    )


def _log1p_exp(value: float) -> float:
    """log(1 + exp(value)) without overflow."""
    return value + log1p(exp(-value)) if value > 0 else log1p(exp(value))
