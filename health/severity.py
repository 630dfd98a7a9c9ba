"""How bad a degradation is, by what the last runs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType

from health.beta import quantile
from health.translation import mark, say
from probes.outcomes import Metric

LOOKED_AT = 3  # runs
HOPELESS = 0.30


class Severity(IntEnum):
    S1 = 1
    S2 = 2
    S3 = 3


_WORDS = {
    Severity.S1: mark("mild"),
    Severity.S2: mark("serious"),
    Severity.S3: mark("severe"),
}


def severity_name(severity: Severity) -> str:
    """How bad it is, in a word of the reader's language."""
    return say(_WORDS[severity])


# As success rates: below these a capability is off, whatever its baseline was.
GATES: Mapping[Metric, float] = MappingProxyType(
    {
        Metric.PARSE_SUCCESS: 0.80,
        Metric.SCHEMA_FAILURE: 0.70,
        Metric.CLOSURE_ERROR: 0.90,
    }
)


def estimate_rate(runs: Sequence[tuple[int, int]]) -> float:
    """The success rate of some runs, (successes, trials) each: the mean of its posterior."""
    successes, trials = sum(good for good, _ in runs), sum(trials for _, trials in runs)
    return (successes + 0.5) / (trials + 1)


def judge_severity(metric: Metric, rate: float, reference: float) -> Severity:
    """The severity of a success rate that fell from its reference."""
    drop = reference - rate
    if drop > 0.50 or rate < HOPELESS:
        return Severity.S3
    if drop >= 0.20 or rate < GATES.get(metric, 0.0):
        return Severity.S2
    return Severity.S1


def is_surely_below_gate(metric: Metric, successes: int, trials: int) -> bool:
    """Whether even a kind reading of few trials lies below the gate."""
    gate = GATES.get(metric)
    if gate is None or not trials:
        return False
    return quantile(0.90, 0.5 + successes, 0.5 + trials - successes) < gate
