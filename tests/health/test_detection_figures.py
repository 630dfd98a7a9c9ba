"""Short versions of `python -m benchmarks.detection`; it simulates the same detector."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest

from benchmarks.detection import delays, figure, fleet, published, story
from benchmarks.detection.draws import Runs
from benchmarks.detection.false_alarms import cell, quiet_year
from benchmarks.detection.recovery import Rule, truth, year
from benchmarks.detection.recovery_table import is_near, leaving, stay
from benchmarks.detection.recursion import CONFIRMATIONS, Replicates, Setting
from health.detector import (
    QUIET,
    WARN,
    Baseline,
    LogSums,
    Verdict,
    alarm_threshold,
    judge_sums,
    log_mean,
    log_ratios,
    step_sums,
)

SIX_HOURLY = alarm_threshold(1460)
TEN = Setting(10, SIX_HOURLY)


def step_once(sums: LogSums, successes: int, baseline: int) -> LogSums:
    reference = Baseline(baseline, 200).reference(per_run=10)
    return step_sums(sums, log_ratios(successes, 10, reference, SIX_HOURLY))


def test_many_replicates_at_once_are_the_detector_run_by_run() -> None:
    """Every replicate has the sums that `health.detector` gives its own runs."""
    baselines = np.array([200, 196, 190, 180, 196])
    runs = Runs(np.random.default_rng(1), 10, 0.1).successes(0.85, (12, 5))
    together, alone = Replicates(TEN, baselines), [QUIET] * 5

    for successes in runs:
        together.add_run(successes, np.arange(5))
        alone = [
            step_once(s, int(x), int(b))
            for s, x, b in zip(alone, successes, baselines, strict=True)
        ]

    with np.errstate(divide="ignore"):
        assert np.log(together.sums) == pytest.approx(np.array(alone), abs=1e-9)
    evidence = np.log(together.sums.mean(axis=1))
    assert evidence == pytest.approx([log_mean(sums) for sums in alone], abs=1e-9)


def test_a_run_of_some_replicates_leaves_the_others() -> None:
    """Confirmation runs change only their own replicates."""
    together = Replicates(TEN, np.array([196, 196, 196]))

    together.add_run(np.array([0]), np.array([1]))

    assert (together.sums.sum(axis=1) > 0).tolist() == [False, True, False]


@pytest.mark.parametrize("rate", [0.95, 0.85, 0.6, 0.0])
def test_a_slot_confirms_and_alarms_as_the_verdicts_say(rate: float) -> None:
    """One scheduled run; while it warns, up to four more; the sums reset after an alarm."""
    together = Replicates(TEN, np.array([196]))
    ours, theirs = (Runs(np.random.default_rng(7), 10, 0.1) for _ in range(2))
    sums = QUIET

    for _ in range(150):
        slot = together.slot(np.array([0]), ours, rate)
        sums, added, alarmed = play_slot(sums, theirs, rate)
        assert (slot.added, len(slot.raised)) == (added, alarmed)
        with np.errstate(divide="ignore"):
            assert np.log(together.sums[0]) == pytest.approx(sums, abs=1e-9)


def play_slot(sums: LogSums, runs: Runs, rate: float) -> tuple[LogSums, int, bool]:
    """One slot, without numpy."""
    for added in range(CONFIRMATIONS + 1):
        sums = step_once(sums, int(runs.successes(rate, 1)[0]), 196)
        verdict = judge_sums(sums, SIX_HOURLY)
        if verdict is Verdict.ALARM:
            return QUIET, added, True
        if verdict is Verdict.OK:
            return sums, added, False
    return sums, CONFIRMATIONS, False


@pytest.mark.parametrize(("rho", "excess"), [(0.0, 1.0), (0.1, 1.9), (0.3, 3.7)])
def test_drawn_trials_have_the_requested_correlation(rho: float, excess: float) -> None:
    """The variance of a run is that of independent trials times 1 + (n - 1) rho."""
    successes = Runs(np.random.default_rng(3), 10, rho).successes(0.9, 100_000)

    assert successes.mean() == pytest.approx(9, abs=0.02)
    assert successes.var() / (10 * 0.9 * 0.1) == pytest.approx(excess, rel=0.03)


@pytest.mark.parametrize("trials", [5, 10, 20])
def test_drops_are_found_as_fast_as_published(trials: int) -> None:
    """The whole second table, each cell within its tolerance."""
    table = delays.drops((trials,))

    assert len(table.rows) == 15
    assert table.failures == 0, table.text()


def test_other_settings_find_drops_as_fast_as_published() -> None:
    """Independent trials, no confirmation runs (total failure takes two), hourly runs."""
    table = delays.other_drops()

    assert len(table.rows) == 10
    assert table.failures == 0, table.text()


@pytest.mark.parametrize(("rate", "added"), [(0.98, 0.7), (0.95, 1.2), (0.9, 2.1)])
def test_false_alarms_are_as_rare_as_published(rate: float, added: float) -> None:
    """One seed of four: below the limit, not silent, and with as many added runs."""
    measured = cell(10, 0.1, rate, seed=101)

    assert 0 < measured.per_year <= published.MAX_ALARMS
    assert measured.added_percent == pytest.approx(added, rel=0.25)


def test_a_perfect_endpoint_never_raises_an_alarm() -> None:
    """Without failures there are no alarms and no confirmation runs."""
    quiet = quiet_year(Runs(np.random.default_rng(101), 10, 0.1), 1.0, 20)

    assert (quiet.alarms.sum(), quiet.added) == (0, 0)


def test_a_healthy_fleet_raises_few_alarms() -> None:
    """At most half an alarm per profile per year, where a plain threshold raises hundreds."""
    table = fleet.healthy_fleet()

    assert table.failures == 0, table.text()
    assert float(table.rows[-1][1]) > 0
    assert float(table.rows[-1][2]) > 500


@pytest.mark.parametrize("name", ["0.80 for good", "0.88 for good", "weekly 0.95 and 0.60"])
def test_the_fallback_is_entered_as_seldom_as_published(name: str) -> None:
    """The recommended rule, within a quarter, on a quarter of the years."""
    rates = truth(name)
    measured = stay(rates, year(rates, Rule.RECOMMENDED, replicates=150))

    assert is_near(measured, published.RECOVERY[name][-1]), measured


def test_the_fallback_is_left_soon_after_recovery() -> None:
    """Half recover two slots after ten bad days and nine in ten after four, give or take one."""
    rates = truth("0.50 for ten days")[:300]
    stays = year(rates, Rule.RECOMMENDED, replicates=150)

    assert stays.entries.mean() == pytest.approx(1.05, rel=0.1)
    assert leaving(rates, stays) == pytest.approx(
        (published.LEFT_HALF, published.LEFT_NINE_TENTHS), abs=1
    )


def test_the_warning_of_the_simulation_is_that_of_the_detector() -> None:
    """Both start confirmation runs at the same evidence."""
    below, above = ((log(WARN * share),) * 4 for share in (0.999, 1.001))

    assert judge_sums(below, SIX_HOURLY) is Verdict.OK
    assert judge_sums(above, inf) is Verdict.WARN
    assert TEN.warn == WARN


def test_the_picture_in_the_documents_is_that_of_the_simulation() -> None:
    """It has a warning, confirmation runs and an alarm; one bad run before raised nothing."""
    runs = story.play_story()

    first = next(number for number, run in enumerate(runs) if run.is_degraded)
    assert {run.verdict for run in runs[:first]} == {Verdict.OK}
    assert min(run.rate for run in runs[:first]) == 0.5
    assert runs[-1].verdict is Verdict.ALARM
    assert any(run.confirms for run in runs)
    assert figure.FILE.read_text(encoding="utf-8") == figure.draw_figure(runs)
