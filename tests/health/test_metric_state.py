"""One metric: how its baseline freezes, and how an alarm ends."""

from __future__ import annotations

from datetime import timedelta
from math import log

import pytest

from health.detector import PROBE, RECOVERY_ODDS, Baseline, BaselineState
from health.metric_state import Alarm
from health.severity import Severity
from health.watch import ChangeKind, MetricCount, accept_baseline, release_alarm
from probes.outcomes import Metric
from tests.health.watch_story import (
    AT,
    CLOSURE,
    DAY,
    DEAD,
    GOOD,
    HALF,
    PARSE,
    REFUSED,
    Story,
    kinds,
    settled_story,
)

SOON = timedelta(hours=1.5)


def run_until_recovered(story: Story, *, max_runs: int = 200) -> list[str]:
    """Run good runs until the alarm ends, and return the changes."""
    changes: list[str] = []
    for _ in range(max_runs):
        changes += kinds(story.run(GOOD, after=SOON))
        if story.severity is None:
            break
    return changes


@pytest.mark.parametrize(
    ("runs", "trials", "baseline_state"),
    [
        (1, 29, BaselineState.NONE),
        (1, 30, BaselineState.PROVISIONAL),
        (19, 40, BaselineState.PROVISIONAL),
        (20, 9, BaselineState.PROVISIONAL),
        (20, 10, BaselineState.FROZEN),
    ],
)
def test_a_baseline_is_provisional_at_30_trials_and_frozen_at_200_over_20_runs(
    runs: int, trials: int, baseline_state: BaselineState
) -> None:
    """Neither many trials of few runs nor many runs of few trials freeze it."""
    story = Story()
    story.runs(runs, MetricCount(trials, 0))

    assert story.gauge.known(PROBE) is baseline_state
    assert (story.gauge.current_reference(PROBE) is None) == (baseline_state is BaselineState.NONE)


def test_an_hourly_baseline_is_frozen_after_600_trials_over_60_runs() -> None:
    """Until then it is provisional, and its reference follows every run."""
    story = Story(every=timedelta(hours=1))
    story.runs(59, GOOD, after=timedelta(hours=1))
    assert (story.gauge.known(PROBE), story.gauge.reference) == (BaselineState.PROVISIONAL, None)

    assert story.runs(1, GOOD, after=timedelta(hours=1)) == [["frozen"]]
    assert story.gauge.known(PROBE) is BaselineState.FROZEN


def test_runs_within_five_minutes_are_one_run_of_a_baseline() -> None:
    """Twenty runs within minutes show one moment; five minutes apart they count."""
    story = Story()
    story.runs(40, GOOD, after=timedelta(minutes=4, seconds=59))
    assert story.gauge.baseline.runs == 20

    story = Story()
    story.runs(19, GOOD, after=timedelta(minutes=5))
    assert story.gauge.known(PROBE) is BaselineState.PROVISIONAL
    assert story.runs(1, GOOD, after=timedelta(minutes=5)) == [["frozen"]]


def test_a_frozen_baseline_does_not_follow_a_slow_decay() -> None:
    """A slow decay is compared with the frozen reference, not with yesterday."""
    story = settled_story()
    before = story.gauge

    story.runs(4, MetricCount(10, 1))

    assert story.gauge.baseline == before.baseline
    assert story.gauge.reference == before.reference == pytest.approx(0.987261, abs=1e-6)


def test_a_provisional_baseline_raises_alarms_too() -> None:
    """A collapse in the first days is detected before there are twenty runs."""
    story = Story()
    story.runs(10, GOOD)

    assert story.runs(2, DEAD) == [["warned"], ["opened"]]


def test_the_gate_closes_only_when_the_trials_are_sure_of_it() -> None:
    """One bad trial is no verdict; a frozen baseline is judged by its reference."""
    unsure, never = Story(), Story()
    unsure.run(MetricCount(2, 1))
    never.run(DEAD)
    poor = settled_story(MetricCount(10, 2))
    good = settled_story(MetricCount(10, 1))

    closed = [story.watch.below_gate() for story in (unsure, never, poor, good)]

    assert closed == [[], [PARSE], [PARSE], []]


@pytest.mark.parametrize(
    ("relapses", "days"), [(0, 1), (1, 2), (2, 4), (4, 16), (5, 28), (50, 28)], ids=str
)
def test_the_dwell_doubles_with_each_relapse_up_to_four_weeks(relapses: int, days: int) -> None:
    """An endpoint that flaps recovers later each time."""
    alarm = Alarm(1, AT, Severity.S1, 0.95, relapses=relapses)

    assert alarm.dwell == days * DAY


def test_seven_clean_runs_are_proof_but_not_before_a_day_is_over() -> None:
    """An alarm needs both proof and time to end."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))
    assert story.severity == 1

    quick = story.runs(15, GOOD, after=SOON)
    alarm = story.gauge.alarm
    assert alarm
    assert alarm.proof == log(RECOVERY_ODDS)
    last = story.runs(1, GOOD, after=SOON)

    assert (quick, last) == ([[]] * 15, [["recovered"]])
    assert story.gauge.recovered_at == story.now
    assert story.gauge.recent == ()


def test_time_alone_proves_nothing() -> None:
    """Bad runs keep the alarm open however long it lasts."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))

    assert story.runs(100, MetricCount(10, 2), after=DAY)[-1] == []
    assert story.severity is not None


def test_an_alarm_escalates_when_it_gets_worse_and_never_eases_by_estimate() -> None:
    """It escalates at once, and eases only with proof and time, one step per run."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))

    worse = [(kind, story.severity) for _ in range(4) for kind in kinds(story.run(DEAD))]
    story.runs(3, GOOD, after=SOON)

    assert worse == [("escalated", 2), ("escalated", 3)]
    assert story.severity == 3


def test_the_highest_severity_requests_release_once() -> None:
    """However good the runs are, it stays until a person releases it."""
    story = settled_story()
    story.runs(2, DEAD)

    changes = run_until_recovered(story, max_runs=60)

    assert changes == ["release_wanted"]
    assert story.severity == 3


def test_a_released_alarm_eases_one_step_per_run() -> None:
    """Not all modes are released at once."""
    story = settled_story()
    story.runs(2, DEAD)
    run_until_recovered(story, max_runs=20)
    story.watch = release_alarm(story.watch, PARSE)

    steps = [(kinds(story.run(GOOD, after=SOON)), story.severity) for _ in range(4)]

    assert steps == [(["eased"], 2), (["eased"], 1), (["recovered"], None), ([], None)]


def test_a_release_in_advance_takes_effect_with_recovery() -> None:
    """A person allows it; the runs decide when."""
    story = settled_story()
    story.runs(2, DEAD)
    story.watch = release_alarm(story.watch, PARSE)

    assert story.runs(10, HALF, after=SOON) == [[]] * 10
    assert run_until_recovered(story) == ["eased", "eased", "recovered"]


def test_an_escalation_revokes_the_release() -> None:
    """A release applies to the alarm that the person saw."""
    story = settled_story()
    story.runs(2, DEAD)
    run_until_recovered(story, max_runs=20)
    story.watch = release_alarm(story.watch, PARSE)
    story.run(GOOD, after=SOON)
    assert story.severity == 2

    worse = [kind for changes in story.runs(4, DEAD, after=SOON) for kind in changes]

    assert worse == ["escalated"]
    assert run_until_recovered(story, max_runs=60) == ["release_wanted"]


def test_proof_of_recovery_does_not_pile_up() -> None:
    """An alarm that awaited release for weeks does not end while the endpoint fails."""
    story = settled_story()
    story.runs(2, DEAD)
    run_until_recovered(story, max_runs=400)
    story.watch = release_alarm(story.watch, PARSE)

    assert story.runs(10, DEAD, after=SOON) == [["release_withdrawn"], *[[]] * 9]
    assert story.severity == 3


@pytest.mark.parametrize("is_released", [False, True], ids=["not released", "released"])
def test_a_bad_run_withdraws_the_release_until_it_has_recovered_again(is_released: bool) -> None:
    """What was offered, or released, was an endpoint that had recovered."""
    story = settled_story()
    story.runs(2, DEAD)
    run_until_recovered(story, max_runs=20)
    if is_released:
        story.watch = release_alarm(story.watch, PARSE)

    withdrawn = kinds(story.run(HALF, after=SOON))
    again = run_until_recovered(story, max_runs=20)

    assert (withdrawn, again, story.severity) == (["release_withdrawn"], ["release_wanted"], 3)


def test_normal_scatter_does_not_withdraw_the_release() -> None:
    """Single failures among good runs are part of the baseline; several in a row are not."""
    story = settled_story(MetricCount(20, 1))
    story.runs(2, MetricCount(20, 20))
    run_until_recovered(story, max_runs=30)
    scattered = [MetricCount(20, 2), MetricCount(20, 0), MetricCount(20, 1)] * 5

    assert [story.run(count, after=SOON) for count in scattered] == [[]] * 15
    changes = [kind for kinds in story.runs(10, MetricCount(20, 3), after=SOON) for kind in kinds]
    assert changes == ["release_withdrawn"]


def test_releasing_what_is_not_open_changes_nothing() -> None:
    """The alarm may have ended a moment ago."""
    story = settled_story()

    assert release_alarm(story.watch, PARSE) == story.watch


@pytest.mark.parametrize(("days", "relapses"), [(13, 1), (15, 0)])
def test_only_a_relapse_within_two_weeks_makes_the_next_alarm_last(
    days: int, relapses: int
) -> None:
    """Counted from the recovery of the last alarm."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))
    assert run_until_recovered(story)[-1] == "recovered"

    story.run(HALF, after=days * DAY)
    story.runs(3, HALF, after=timedelta(minutes=6))

    alarm = story.gauge.alarm
    assert alarm
    assert alarm.relapses == relapses


def test_a_metric_whose_steps_switch_nothing_more_on_needs_no_release() -> None:
    """Severities that add no modes need no steps down."""
    story = settled_story(metric=Metric.PARALLEL_DOWNGRADE)
    story.runs(2, DEAD)
    assert story.severity == 3

    assert run_until_recovered(story) == ["recovered"]


def test_resetting_to_enough_runs_freezes_the_baseline() -> None:
    """The alarm ends, and the same rate raises none any more."""
    story = settled_story()
    story.runs(3, HALF)
    story.watch = accept_baseline(story.watch, PARSE, Baseline(100, 200, 20))

    assert story.severity is None
    assert story.gauge.known(PROBE) is BaselineState.FROZEN
    assert story.runs(50, HALF) == [[]] * 50


def test_resetting_to_few_runs_keeps_learning() -> None:
    """A baseline of three runs is provisional until there are twenty."""
    story = settled_story()
    story.runs(3, HALF)
    story.watch = accept_baseline(story.watch, PARSE, Baseline(15, 30, 3))

    assert story.gauge.known(PROBE) is BaselineState.PROVISIONAL
    changes = [kind for kinds in story.runs(17, HALF) for kind in kinds]
    assert changes == ["frozen"]
    assert story.gauge.baseline == Baseline(100, 200, 20)


def test_refusals_that_were_accepted_do_not_open_the_next_alarm() -> None:
    """A baseline of refusals makes refusals normal."""
    story = settled_story(metric=CLOSURE)
    assert kinds(story.run(REFUSED)) == ["opened"]
    story.watch = accept_baseline(story.watch, CLOSURE, Baseline(0, 4, 1))

    assert [kinds for kinds in story.runs(60, REFUSED) if kinds] == [["frozen"]]


def test_a_refusal_after_an_accepted_mild_decline_opens_at_once() -> None:
    """A baseline with a lower rate does not make refusals normal."""
    story = settled_story(metric=CLOSURE)
    story.watch = accept_baseline(story.watch, CLOSURE, Baseline(180, 200, 20))

    (opened,) = story.run(REFUSED)

    assert opened.kind is ChangeKind.OPENED


def test_a_suspicious_run_is_not_learned() -> None:
    """A degradation during learning is detected, not made part of the baseline."""
    story = Story()
    story.runs(6, GOOD)

    changes = story.runs(40, MetricCount(10, 3))

    assert ["opened"] in changes
    assert story.gauge.baseline.trials < 6 * 10 + 10 * 10
