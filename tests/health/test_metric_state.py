"""One metric: how its baseline settles, and how an alarm is left."""

from __future__ import annotations

from datetime import timedelta
from math import log

import pytest

from health.detector import PROBE, RECOVERED, Baseline, Known
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


def left(story: Story, *, most: int = 200) -> list[str]:
    """Good runs until the alarm is over; what changed meanwhile."""
    found: list[str] = []
    for _ in range(most):
        found += kinds(story.run(GOOD, after=SOON))
        if story.severity is None:
            break
    return found


@pytest.mark.parametrize(
    ("runs", "trials", "known"),
    [
        (1, 29, Known.NONE),
        (1, 30, Known.PROVISIONAL),
        (19, 40, Known.PROVISIONAL),
        (20, 9, Known.PROVISIONAL),
        (20, 10, Known.FROZEN),
    ],
)
def test_a_baseline_is_of_use_at_30_trials_and_frozen_at_200_over_20_runs(
    runs: int, trials: int, known: Known
) -> None:
    """Many trials of few runs do not freeze it, nor many runs of few trials."""
    story = Story()
    story.runs(runs, MetricCount(trials, 0))

    assert story.gauge.known(PROBE) is known
    assert (story.gauge.judged_by(PROBE) is None) == (known is Known.NONE)


def test_runs_that_follow_each_other_at_once_are_one_run_of_a_baseline() -> None:
    """Twenty runs within minutes tell about one moment; five minutes apart they count."""
    story = Story()
    story.runs(40, GOOD, after=timedelta(minutes=4, seconds=59))
    assert story.gauge.baseline.runs == 20

    story = Story()
    story.runs(19, GOOD, after=timedelta(minutes=5))
    assert story.gauge.known(PROBE) is Known.PROVISIONAL
    assert story.runs(1, GOOD, after=timedelta(minutes=5)) == [["frozen"]]


def test_a_frozen_baseline_does_not_follow_a_slow_decay() -> None:
    """What is compared with yesterday alone never falls."""
    story = settled_story()
    before = story.gauge

    story.runs(4, MetricCount(10, 1))

    assert story.gauge.baseline == before.baseline
    assert story.gauge.reference == before.reference == pytest.approx(0.987261, abs=1e-6)


def test_a_provisional_baseline_raises_alarms_too() -> None:
    """A collapse in the first days is found without waiting for twenty runs."""
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
    """An endpoint that flaps is trusted ever later."""
    alarm = Alarm(1, AT, Severity.S1, 0.95, relapses=relapses)

    assert alarm.dwell == days * DAY


def test_seven_clean_runs_are_proof_but_not_before_a_day_is_over() -> None:
    """Proof and time are both asked for."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))
    assert story.severity == 1

    quick = story.runs(15, GOOD, after=SOON)
    alarm = story.gauge.alarm
    assert alarm
    assert alarm.proof == log(RECOVERED)
    last = story.runs(1, GOOD, after=SOON)

    assert (quick, last) == ([[]] * 15, [["recovered"]])
    assert story.gauge.left_at == story.now
    assert story.gauge.recent == ()


def test_time_alone_proves_nothing() -> None:
    """Bad runs keep the alarm however long it lasts."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))

    assert story.runs(100, MetricCount(10, 2), after=DAY)[-1] == []
    assert story.severity is not None


def test_an_alarm_escalates_when_it_gets_worse_and_never_eases_by_estimate() -> None:
    """Tightening is at once; loosening only by proof, time and one step a run."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))

    worse = [(kind, story.severity) for _ in range(4) for kind in kinds(story.run(DEAD))]
    story.runs(3, GOOD, after=SOON)

    assert worse == [("escalated", 2), ("escalated", 3)]
    assert story.severity == 3


def test_a_most_severe_alarm_asks_once_and_waits_for_a_person() -> None:
    """However good the runs are, somebody has to allow it."""
    story = settled_story()
    story.runs(2, DEAD)

    found = left(story, most=60)

    assert found == ["release_wanted"]
    assert story.severity == 3


def test_a_released_alarm_eases_one_step_a_run() -> None:
    """Not everything comes back at once."""
    story = settled_story()
    story.runs(2, DEAD)
    left(story, most=20)
    story.watch = release_alarm(story.watch, PARSE)

    steps = [(kinds(story.run(GOOD, after=SOON)), story.severity) for _ in range(4)]

    assert steps == [(["eased"], 2), (["eased"], 1), (["recovered"], None), ([], None)]


def test_a_release_in_advance_is_kept_until_the_runs_speak_for_it() -> None:
    """A person allows it; the runs decide when."""
    story = settled_story()
    story.runs(2, DEAD)
    story.watch = release_alarm(story.watch, PARSE)

    assert story.runs(10, HALF, after=SOON) == [[]] * 10
    assert left(story) == ["eased", "eased", "recovered"]


def test_what_was_released_has_to_be_released_again_after_it_got_worse() -> None:
    """A release concerns the alarm that a person saw."""
    story = settled_story()
    story.runs(2, DEAD)
    left(story, most=20)
    story.watch = release_alarm(story.watch, PARSE)
    story.run(GOOD, after=SOON)
    assert story.severity == 2

    worse = [kind for found in story.runs(4, DEAD, after=SOON) for kind in found]

    assert worse == ["escalated"]
    assert left(story, most=60) == ["release_wanted"]


def test_weeks_of_good_runs_do_not_speak_for_an_endpoint_that_is_bad_again() -> None:
    """An alarm that waited long for its release is not left while the endpoint fails."""
    story = settled_story()
    story.runs(2, DEAD)
    left(story, most=400)
    story.watch = release_alarm(story.watch, PARSE)

    assert story.runs(10, DEAD, after=SOON) == [[]] * 10
    assert story.severity == 3


def test_releasing_what_is_not_open_changes_nothing() -> None:
    """It may have recovered a moment ago."""
    story = settled_story()

    assert release_alarm(story.watch, PARSE) == story.watch


@pytest.mark.parametrize(("days", "relapses"), [(13, 1), (15, 0)])
def test_only_a_relapse_within_two_weeks_makes_the_next_alarm_last(
    days: int, relapses: int
) -> None:
    """Counted from the moment at which the last one was left."""
    story = settled_story()
    story.runs(7, MetricCount(10, 1))
    assert left(story)[-1] == "recovered"

    story.run(HALF, after=days * DAY)
    story.runs(3, HALF, after=timedelta(minutes=6))

    alarm = story.gauge.alarm
    assert alarm
    assert alarm.relapses == relapses


def test_a_metric_whose_steps_switch_nothing_more_on_needs_no_release() -> None:
    """Lost parallel calls cost parallel calls, however many are lost."""
    story = settled_story(metric=Metric.PARALLEL_DOWNGRADE)
    story.runs(2, DEAD)
    assert story.severity == 3

    assert left(story) == ["recovered"]


def test_accepting_enough_runs_freezes_the_new_normal() -> None:
    """It ends the alarm, and the same rate raises none any more."""
    story = settled_story()
    story.runs(3, HALF)
    story.watch = accept_baseline(story.watch, PARSE, Baseline(100, 200, 20))

    assert story.severity is None
    assert story.gauge.known(PROBE) is Known.FROZEN
    assert story.runs(50, HALF) == [[]] * 50


def test_accepting_few_runs_goes_on_learning() -> None:
    """A baseline of three runs is provisional until there are twenty."""
    story = settled_story()
    story.runs(3, HALF)
    story.watch = accept_baseline(story.watch, PARSE, Baseline(15, 30, 3))

    assert story.gauge.known(PROBE) is Known.PROVISIONAL
    found = [kind for kinds in story.runs(17, HALF) for kind in kinds]
    assert found == ["frozen"]
    assert story.gauge.baseline == Baseline(100, 200, 20)


def test_refusals_that_were_accepted_do_not_open_the_next_alarm() -> None:
    """Who accepts that an endpoint refuses is not told so again by the next run."""
    story = settled_story(metric=CLOSURE)
    assert kinds(story.run(REFUSED)) == ["opened"]
    story.watch = accept_baseline(story.watch, CLOSURE, Baseline(0, 4, 1))

    assert [kinds for kinds in story.runs(60, REFUSED) if kinds] == [["frozen"]]


def test_a_refusal_after_an_accepted_mild_decline_opens_at_once() -> None:
    """What was accepted is a lower rate, not every refusal to come."""
    story = settled_story(metric=CLOSURE)
    story.watch = accept_baseline(story.watch, CLOSURE, Baseline(180, 200, 20))

    (opened,) = story.run(REFUSED)

    assert opened.kind is ChangeKind.OPENED


def test_what_looks_suspicious_is_not_learned_as_normal() -> None:
    """A degradation while the baseline is being filled is found, not made part of it."""
    story = Story()
    story.runs(6, GOOD)

    found = story.runs(40, MetricCount(10, 3))

    assert ["opened"] in found
    assert story.gauge.baseline.trials < 6 * 10 + 10 * 10
