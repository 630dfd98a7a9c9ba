from __future__ import annotations

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from health.detector import LIVE, PROBE, alarm_threshold
from health.power import detectable_drop, divergence, runs_to_detect

SIX_HOURLY = alarm_threshold(1460)
REFERENCE = 0.955378  # of 196 successes in 200 trials


@pytest.mark.parametrize(
    ("reference", "rate", "simulated"),
    [
        (0.987261, 0.8, 6.4),
        (0.987261, 0.5, 2.9),
        (0.955378, 0.8, 12.6),
        (0.955378, 0.5, 3.9),
        (0.916449, 0.8, 27.1),
        (0.916449, 0.5, 4.9),
        (0.857124, 0.8, 143.7),
        (0.857124, 0.5, 6.9),
    ],
)
def test_the_formula_agrees_with_the_simulated_mean(
    reference: float, rate: float, simulated: float
) -> None:
    """Within 15 % of the result of `python -m benchmarks.detection` for a usual baseline."""
    assert runs_to_detect(reference, rate, 10, SIX_HOURLY) == pytest.approx(simulated, rel=0.15)


def test_one_trial_per_run_has_the_divergence_of_two_coins() -> None:
    """For a single trial the divergence has a closed form."""
    expected = 0.5 * log(0.5 / 0.9) + 0.5 * log(0.5 / 0.1)

    assert divergence(0.5, 0.9, 1, 0.1) == pytest.approx(expected)
    assert divergence(0.0, 0.9, 1, 0.1) == pytest.approx(log(10))


@pytest.mark.parametrize("rate", [REFERENCE, 0.99, 1.0])
def test_a_rate_that_did_not_drop_is_never_detected(rate: float) -> None:
    """At or above the reference the number of runs is infinite."""
    assert runs_to_detect(REFERENCE, rate, 10, SIX_HOURLY) == inf


def test_total_failure_takes_two_runs() -> None:
    """No single run raises the alarm."""
    assert runs_to_detect(REFERENCE, 0.0, 10, SIX_HOURLY) == 2
    assert detectable_drop(REFERENCE, 10, SIX_HOURLY, within_runs=1.9) is None


@given(within=st.floats(2.5, 500), trials=st.integers(1, 30), reference=st.floats(0.3, 0.99))
def test_the_drop_is_the_smallest_that_is_detected_in_time(
    within: float, trials: int, reference: float
) -> None:
    """It is detected within the given runs, and a slightly smaller drop is not."""
    drop = detectable_drop(reference, trials, SIX_HOURLY, within)

    if drop is None:
        assert runs_to_detect(reference, 0.0, trials, SIX_HOURLY) > within
        return
    assert runs_to_detect(reference, reference - drop, trials, SIX_HOURLY) <= within
    assert runs_to_detect(reference, reference - drop * 0.999, trials, SIX_HOURLY) > within


def test_patience_and_traffic_find_smaller_drops() -> None:
    """More runs help; the live lane detects drops that probes cannot."""
    soon = detectable_drop(REFERENCE, 10, SIX_HOURLY, 12, PROBE)
    late = detectable_drop(REFERENCE, 10, SIX_HOURLY, 120, PROBE)
    live = detectable_drop(REFERENCE, 200, alarm_threshold(365 * 288), 12, LIVE)

    assert soon == pytest.approx(0.171, abs=0.001)
    assert late == pytest.approx(0.039, abs=0.001)
    assert live is not None
    assert live < 0.08


def test_many_trials_do_not_overflow() -> None:
    """Busy live traffic has thousands of requests in five minutes."""
    drop = detectable_drop(0.98, 3000, alarm_threshold(365 * 288), 12, LIVE)

    assert drop == pytest.approx(0.043, abs=0.002)
