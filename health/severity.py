"""The severity of a degradation, from the last runs since it began."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType

from health.beta import quantile
from health.change_point import RunCount, mean_rate
from health.translation import mark, say
from probes.outcomes import Metric

SEVERITY_RUNS = 3
SEVERE_BELOW = 0.30


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
    """The name of a severity in the reader's language."""
    return say(_WORDS[severity])


# Absolute gates, as success rates: below its gate a capability is off, whatever its baseline.
GATES: Mapping[Metric, float] = MappingProxyType(
    {
        Metric.PARSE_SUCCESS: 0.80,
        Metric.SCHEMA_FAILURE: 0.70,
        Metric.CLOSURE_ERROR: 0.90,
        # An agent acts on results: one that ignores every fifth repeats calls and makes up facts.
        Metric.RESULT_USE: 0.80,
        # Higher than that of schemas, because no validator stops a damaged value: a proxy that
        # damages every longer text still leaves three values in four as they were asked for.
        Metric.VALUE_FIDELITY: 0.85,
    }
)


def estimate_rate(runs: Sequence[RunCount]) -> float:
    """The posterior mean of the success rate of some runs, each with the same weight."""
    trials = sum(trials for _, trials in runs)
    return (mean_rate(runs) * trials + 0.5) / (trials + 1)


def judge_severity(metric: Metric, rate: float, reference: float) -> Severity:
    """The severity of a success rate that fell from its reference."""
    drop = reference - rate
    if drop > 0.50 or rate < SEVERE_BELOW:
        return Severity.S3
    if drop >= 0.20 or rate < GATES.get(metric, 0.0):
        return Severity.S2
    return Severity.S1


def is_surely_below_gate(metric: Metric, successes: int, trials: int) -> bool:
    """Whether the 90 % quantile of the success rate is below the gate."""
    gate = GATES.get(metric)
    if gate is None or not trials:
        return False
    return quantile(0.90, 0.5 + successes, 0.5 + trials - successes) < gate
