from __future__ import annotations

from health.backtest import BacktestSeries, DetectorStep
from health.detector import LIVE, PROBE, Baseline, BaselineState, Verdict, alarm_threshold

SIX_HOURLY = alarm_threshold(1460)


def series(successes: int = 196) -> BacktestSeries:
    return BacktestSeries(PROBE, SIX_HOURLY, Baseline(successes, 200), per_run=10)


def test_a_given_baseline_is_final_however_small() -> None:
    """A given baseline is frozen and learns nothing from the runs."""
    small = BacktestSeries(PROBE, SIX_HOURLY, Baseline(9, 10), per_run=10)

    first, second = small.add_run(10, 10), small.add_run(10, 10)

    assert first.state is second.state is BaselineState.FROZEN
    assert first.p_ref == second.p_ref


def test_without_enough_trials_a_run_is_not_judged() -> None:
    """Below 30 trials there is no reference, so even a total failure raises nothing."""
    assert BacktestSeries(PROBE, SIX_HOURLY).add_run(0, 29) == DetectorStep(
        BaselineState.NONE, None, Verdict.OK, None
    )


def test_a_provisional_baseline_detects_a_degradation() -> None:
    """A provisional baseline raises alarms too."""
    warming = BacktestSeries(PROBE, SIX_HOURLY)
    for _ in range(6):
        warming.add_run(10, 10)

    steps = [warming.add_run(0, 10) for _ in range(2)]

    assert [step.verdict for step in steps] == [Verdict.WARN, Verdict.ALARM]
    assert {step.state for step in steps} == {BaselineState.PROVISIONAL}


def test_a_slow_decay_does_not_move_a_frozen_baseline() -> None:
    """A rate that sinks by one trial in ten every ten runs is detected, not learned."""
    sinking = BacktestSeries(PROBE, SIX_HOURLY)
    for _ in range(20):
        sinking.add_run(10, 10)

    steps = [sinking.add_run(10 - k // 10, 10) for k in range(40)]

    assert len({step.p_ref for step in steps}) == 1
    assert Verdict.ALARM in {step.verdict for step in steps}


def test_the_sums_start_anew_after_an_alarm() -> None:
    """Every alarm needs its own evidence."""
    falling = series()

    verdicts = [falling.add_run(0, 10).verdict for _ in range(4)]

    assert verdicts == [Verdict.WARN, Verdict.ALARM] * 2


def test_the_same_history_gives_the_same_answers() -> None:
    """The result depends on the runs alone."""
    history = [(10, 10), (7, 9), (0, 0), (20, 20), (3, 5), (8, 10), (1, 4)] * 5
    one, other = BacktestSeries(PROBE, SIX_HOURLY), BacktestSeries(PROBE, SIX_HOURLY)

    assert [one.add_run(*run) for run in history] == [other.add_run(*run) for run in history]


def test_live_traffic_needs_two_days_and_four_thousand_requests() -> None:
    """The live lane freezes later than probes do."""
    live = BacktestSeries(LIVE, alarm_threshold(365 * 288))

    states = [live.add_run(20, 20).state for _ in range(578)]

    assert states[48] is BaselineState.NONE
    assert states[49] is states[574] is BaselineState.PROVISIONAL
    assert states[575] is BaselineState.FROZEN
