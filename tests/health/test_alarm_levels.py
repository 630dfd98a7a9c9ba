from __future__ import annotations

import pytest

from health.alarm_levels import alarm_level, warning_level
from health.detector import (
    PROBE,
    QUIET,
    Verdict,
    alarm_threshold,
    judge_sums,
    log_ratios,
    step_sums,
)

LIMIT = alarm_threshold(1460)


@pytest.mark.parametrize(("reference", "trials"), [(0.99, 10), (0.95, 40), (0.7, 25)])
def test_a_run_at_the_line_warns_and_one_success_more_does_not(
    reference: float, trials: int
) -> None:
    """The warning level agrees with the detector's own verdict."""
    line = warning_level(reference, trials, LIMIT)

    assert line is not None
    at = round(line * trials)
    assert _verdict_after(at, trials, reference, runs=1) is not Verdict.OK
    assert _verdict_after(at + 1, trials, reference, runs=1) is Verdict.OK


@pytest.mark.parametrize(("reference", "trials"), [(0.99, 10), (0.95, 40)])
def test_two_runs_at_the_line_raise_the_alarm(reference: float, trials: int) -> None:
    """With one success more in each run, they raise none."""
    line = alarm_level(reference, trials, LIMIT)

    assert line is not None
    at = round(line * trials)
    assert _verdict_after(at, trials, reference, runs=2) is Verdict.ALARM
    assert _verdict_after(at + 1, trials, reference, runs=2) is not Verdict.ALARM


@pytest.mark.parametrize("trials", [0, 1])
def test_too_few_trials_have_no_line(trials: int) -> None:
    """A single trial cannot reach the threshold, whatever its outcome."""
    assert warning_level(0.5, trials, LIMIT) is None


def _verdict_after(successes: int, trials: int, reference: float, *, runs: int) -> Verdict:
    sums = QUIET
    for _ in range(runs):
        sums = step_sums(sums, log_ratios(successes, trials, reference, LIMIT, lane=PROBE))
    return judge_sums(sums, LIMIT)
