from __future__ import annotations

from health.backtest import BacktestSeries, DetectorStep
from health.detector import LIVE, PROBE, Baseline, Known, Verdict, alarm_threshold

SIX_HOURLY = alarm_threshold(1460)


def series(successes: int = 196) -> BacktestSeries:
    return BacktestSeries(PROBE, SIX_HOURLY, Baseline(successes, 200), per_run=10)


def test_a_given_baseline_is_final_however_small() -> None:
    """Who gives one knows better; it does not learn from the runs."""
    small = BacktestSeries(PROBE, SIX_HOURLY, Baseline(9, 10), per_run=10)

    first, second = small.take(10, 10), small.take(10, 10)

    assert first.state is second.state is Known.FROZEN
    assert first.p_ref == second.p_ref


def test_a_run_too_few_to_know_anything_is_not_judged() -> None:
    """Below 30 trials there is no reference, and a total failure is no news."""
    assert BacktestSeries(PROBE, SIX_HOURLY).take(0, 29) == DetectorStep(
        Known.NONE, None, Verdict.OK, None
    )


def test_a_degradation_while_warming_up_is_found_already() -> None:
    """A provisional baseline raises alarms too."""
    warming = BacktestSeries(PROBE, SIX_HOURLY)
    for _ in range(6):
        warming.take(10, 10)

    found = [warming.take(0, 10) for _ in range(2)]

    assert [step.verdict for step in found] == [Verdict.WARN, Verdict.ALARM]
    assert {step.state for step in found} == {Known.PROVISIONAL}


def test_a_slow_decay_does_not_move_a_frozen_baseline() -> None:
    """A rate that sinks by one trial in ten every ten runs is found, not learned."""
    sinking = BacktestSeries(PROBE, SIX_HOURLY)
    for _ in range(20):
        sinking.take(10, 10)

    found = [sinking.take(10 - k // 10, 10) for k in range(40)]

    assert len({step.p_ref for step in found}) == 1
    assert Verdict.ALARM in {step.verdict for step in found}


def test_the_sums_start_anew_after_an_alarm() -> None:
    """Every alarm needs evidence of its own."""
    falling = series()

    verdicts = [falling.take(0, 10).verdict for _ in range(4)]

    assert verdicts == [Verdict.WARN, Verdict.ALARM] * 2


def test_the_same_history_gives_the_same_answers() -> None:
    """Nothing but the runs decides: what is kept is a cache of them."""
    history = [(10, 10), (7, 9), (0, 0), (20, 20), (3, 5), (8, 10), (1, 4)] * 5
    one, other = BacktestSeries(PROBE, SIX_HOURLY), BacktestSeries(PROBE, SIX_HOURLY)

    assert [one.take(*run) for run in history] == [other.take(*run) for run in history]


def test_live_traffic_needs_two_days_and_four_thousand_requests() -> None:
    """The live lane freezes later than probes do."""
    live = BacktestSeries(LIVE, alarm_threshold(365 * 288))

    states = [live.take(20, 20).state for _ in range(578)]

    assert states[48] is Known.NONE
    assert states[49] is states[574] is Known.PROVISIONAL
    assert states[575] is Known.FROZEN
