"""The severity of a drop, at the edges of its levels."""

from __future__ import annotations

import pytest

from health.severity import GATES, Severity, estimate_rate, is_surely_below_gate, judge_severity
from probes.outcomes import Metric

PARALLEL = Metric.PARALLEL_DOWNGRADE  # has no gate


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.9375, Severity.S1),
        (0.738, Severity.S1),
        (0.737, Severity.S2),
        (0.4375, Severity.S2),
        (0.437, Severity.S3),
        (0.0, Severity.S3),
    ],
)
def test_a_drop_of_a_fifth_is_s2_and_beyond_a_half_s3(rate: float, expected: Severity) -> None:
    """Compared with a reference of .9375, so that half of it lies exactly at .4375."""
    assert judge_severity(PARALLEL, rate, 0.9375) is expected


@pytest.mark.parametrize(("rate", "expected"), [(0.30, Severity.S1), (0.2999, Severity.S3)])
def test_below_thirty_percent_is_s3_however_small_the_drop(rate: float, expected: Severity) -> None:
    """An endpoint that was poor before may still become useless."""
    assert judge_severity(PARALLEL, rate, 0.45) is expected


@pytest.mark.parametrize(
    ("metric", "gate"),
    [
        (Metric.PARSE_SUCCESS, 0.80),
        (Metric.SCHEMA_FAILURE, 0.70),
        (Metric.CLOSURE_ERROR, 0.90),
    ],
    ids=str,
)
def test_below_the_absolute_gate_a_small_drop_is_bad(metric: Metric, gate: float) -> None:
    """A high reference does not make it milder."""
    reference = gate + 0.05

    assert GATES[metric] == gate
    assert judge_severity(metric, gate, reference) is Severity.S1
    assert judge_severity(metric, gate - 0.001, reference) is Severity.S2


def test_the_estimate_never_claims_certainty() -> None:
    """The mean of three runs, shrunk a little towards one half."""
    assert estimate_rate([(10, 10), (10, 10), (10, 10)]) == pytest.approx(30.5 / 31)
    assert estimate_rate([(0, 4)]) == pytest.approx(0.1)


def test_the_estimate_weighs_runs_and_not_trials() -> None:
    """A full run has four times the trials of a light one and the same weight."""
    assert estimate_rate([(0, 11), (46, 46)]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("successes", "trials", "expected"),
    [(0, 0, False), (1, 2, False), (1, 4, True), (0, 3, True), (7, 10, False), (60, 100, True)],
)
def test_few_trials_close_a_gate_only_if_their_upper_bound_does(
    successes: int, trials: int, expected: bool
) -> None:
    """The 90 % quantile of the rate decides."""
    assert is_surely_below_gate(Metric.PARSE_SUCCESS, successes, trials) is expected


def test_a_metric_without_a_gate_is_never_below_it() -> None:
    """Losing parallel calls turns nothing off by itself."""
    assert not is_surely_below_gate(PARALLEL, 0, 1000)
