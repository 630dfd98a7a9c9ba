"""The changes that runs cause: warnings, alarms and refusals, and runs that change nothing."""

from __future__ import annotations

import json
from math import log
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from health.modes import WATCHED
from health.severity import Severity
from health.watch import ChangeKind, MetricCount, Watch, follow_run, watch_from_json
from probes.outcomes import Metric
from tests.health.watch_story import (
    AT,
    CLOSURE,
    DEAD,
    EVERY,
    GOOD,
    HALF,
    PARSE,
    REFUSED,
    Story,
    kinds,
    settled_story,
    watched_run,
)


@st.composite
def counts(draw: st.DrawFn) -> MetricCount:
    trials = draw(st.sampled_from([0, 1, 4, 10, 40]))
    failures = draw(st.sampled_from([0, 0, 0, 1, trials // 2, trials]))
    failures = min(failures, trials)
    return MetricCount(trials, failures, refused=draw(st.sampled_from([0, 0, failures])))


RUNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(WATCHED), counts(), max_size=3),
        # Minutes since the run before.
        st.sampled_from([1, 6, 360, 1440, 20_000]),
        st.sampled_from(["v1", "v1", "v1", "v1", "v2"]),
        # How many runs alike follow each other.
        st.sampled_from([1, 1, 3, 25]),
    ),
    max_size=8,
)


def number_runs(runs: list[Any]) -> list[Any]:
    """The runs as the watch sees them, numbered with gaps."""
    watched, at, number = [], AT, 0
    for chosen, minutes, version, times in runs:
        for _ in range(times):
            number, at = number + 3, at + EVERY / 360 * minutes
            watched.append(watched_run(number, chosen, at=at, version=version))
    return watched


@given(RUNS)
@settings(max_examples=30)
def test_a_watch_restored_from_json_continues_unchanged(runs: list[Any]) -> None:
    """Every reachable state survives JSON, to the last digit."""
    restored = watch = Watch()
    for run in number_runs(runs):
        watch, changes = follow_run(watch, run)
        restored, restored_changes = follow_run(
            watch_from_json(json.loads(json.dumps(restored.as_json()))), run
        )
        assert restored == watch
        assert sorted(map(repr, restored_changes)) == sorted(map(repr, changes))
    assert watch_from_json(json.loads(json.dumps(watch.as_json()))) == watch


def test_a_long_story_restored_from_json_continues_unchanged() -> None:
    """With a recovery, a relapse and a month of scatter, which random runs hardly reach."""
    mild, hour = MetricCount(10, 1), EVERY / 6
    script = [(GOOD, EVERY)] * 20 + [(mild, EVERY)] * 7 + [(GOOD, hour)] * 30
    script += (
        [(mild, EVERY)] * 7 + [(GOOD, EVERY)] * 20 + [(HALF, EVERY), *[(GOOD, EVERY)] * 19] * 7
    )
    straight, restored, changes = Story(), Story(), []
    for count, after in script:
        changes += kinds(straight.run(count, after=after))
        restored.watch = watch_from_json(json.loads(json.dumps(restored.watch.as_json())))
        restored.run(count, after=after)

    assert restored.watch == straight.watch
    assert [kind for kind in changes if kind not in ("warned", "calmed")] == [
        *("frozen", "opened", "recovered", "opened", "recovered", "correlated")
    ]
    assert straight.gauge.relapses == 1


@given(RUNS, st.randoms(use_true_random=False))
@settings(max_examples=12)
def test_following_all_runs_again_gives_the_same_watch(runs: list[Any], rng: Any) -> None:
    """The state is a cache: stored between runs or replayed in order, it is the same."""
    watched = number_runs(runs)
    restored = Watch()
    for run in watched:
        restored = watch_from_json(json.loads(json.dumps(follow_run(restored, run)[0].as_json())))
    rng.shuffle(watched)

    watch = Watch()
    for run in sorted(watched, key=lambda run: run.number):
        watch, _ = follow_run(watch, run)
    assert watch == restored


@given(RUNS)
@settings(max_examples=12)
def test_a_run_followed_twice_or_too_late_changes_nothing(runs: list[Any]) -> None:
    """Workers that repeat a run do no harm."""
    watched = number_runs(runs)
    watch = Watch()
    for run in watched:
        watch, _ = follow_run(watch, run)
        for late in watched:
            if late.number <= run.number:
                assert follow_run(watch, late) == (watch, [])


@given(RUNS, st.randoms(use_true_random=False))
@settings(max_examples=12)
def test_the_order_of_metrics_in_a_run_is_irrelevant(runs: list[Any], rng: Any) -> None:
    """Counts are looked up by metric, in whatever order."""
    straight = mixed = Watch()
    for run in number_runs(runs):
        straight, expected = follow_run(straight, run)
        shuffled = list(run.counts.items())
        rng.shuffle(shuffled)
        other = watched_run(run.number, dict(shuffled), at=run.at, version=run.suite_version)
        mixed, changes = follow_run(mixed, other)
        assert kinds(changes) == kinds(expected)
    assert mixed == straight


def test_a_run_without_a_trial_leaves_its_metric_alone() -> None:
    """No data is neither good nor bad."""
    story = settled_story()
    story.run(DEAD)
    before = story.gauge

    changes = story.run({PARSE: MetricCount(0, 0), CLOSURE: GOOD})

    assert changes == []
    assert story.gauge == before


def test_availability_never_enters() -> None:
    """An outage is no degradation: void trials count only towards availability."""
    story = settled_story()
    before = dict(story.watch.gauges)

    for _ in range(10):
        changes = story.run({Metric.AVAILABILITY: DEAD, Metric.LEAK: DEAD})
        assert changes == []

    assert story.watch.gauges == before


def test_no_single_run_raises_the_alarm_and_two_do() -> None:
    """Even the worst run is confirmed first."""
    story = settled_story()

    assert story.runs(2, MetricCount(200, 200)) == [["warned"], ["opened"]]


def test_a_warning_has_four_confirmation_runs_at_most() -> None:
    """Runs that neither calm nor alarm do not go on for ever."""
    story = settled_story()
    story.run(HALF)
    level = [HALF, MetricCount(10, 1), GOOD, MetricCount(10, 1), GOOD, GOOD]

    pending = [story.watch.wants_confirmation]
    for count in level:
        assert story.run(count) == []
        pending.append(story.watch.wants_confirmation)

    assert pending == [True] * 4 + [False] * 3


def test_a_warning_that_calms_may_be_confirmed_anew_later() -> None:
    """Good runs lower the sums; the next rise is another warning."""
    story = settled_story()
    story.run(HALF)

    calmed = [kind for changes in story.runs(6, GOOD) for kind in changes]

    assert calmed == ["calmed"]
    assert not story.watch.wants_confirmation
    assert story.runs(1, HALF) == [["warned"]]
    assert story.gauge.confirmations == 4


def test_an_alarm_ends_the_warning_and_empties_the_sums() -> None:
    """Evidence counts for one alarm only."""
    story = settled_story()
    story.runs(2, DEAD)

    assert not story.watch.wants_confirmation
    assert set(story.gauge.sums) == {float("-inf")}
    assert story.runs(3, DEAD) == [[], [], []]


def test_a_stored_watch_without_a_newer_metric_goes_on() -> None:
    """The new metric learns its baseline from the next run on, and the others keep theirs."""
    stored = json.loads(json.dumps(settled_story().watch.as_json()))
    assert set(stored["gauges"]) == {"parse_success"}
    story = Story(watch_from_json(stored))

    story.run({Metric.PARSE_SUCCESS: GOOD, Metric.VALUE_FIDELITY: GOOD})

    assert story.watch.gauge(Metric.VALUE_FIDELITY).baseline.runs == 1
    assert story.gauge.reference is not None


def test_an_alarm_carries_its_figures() -> None:
    """The evidence can be recomputed later."""
    story = settled_story()
    story.run(DEAD)

    (opened,) = story.run(DEAD)

    assert opened.kind is ChangeKind.OPENED
    assert opened.severity is Severity.S3
    assert opened.figures["log_m"] >= opened.figures["log_a"] == pytest.approx(log(9 * 1460 / 0.5))
    assert opened.figures["reference"] == pytest.approx(0.987261, abs=1e-6)
    assert opened.figures["baseline"] == [200, 200, 20]
    assert (opened.figures["trials"], opened.figures["failures"]) == (10, 10)


def test_a_collapse_is_severe_at_once_whatever_full_run_came_before() -> None:
    """A good full run before the change neither softens the figure nor delays the severity."""
    story = settled_story(MetricCount(11, 0))
    story.run(MetricCount(46, 0))
    story.run(MetricCount(11, 11))

    (opened,) = story.run(MetricCount(46, 46))

    assert (opened.kind, opened.severity) == (ChangeKind.OPENED, Severity.S3)
    assert opened.figures["rate"] == 0
    assert opened.figures["latest"] == [0, 57, 2]


def test_a_slow_decline_is_measured_from_its_beginning() -> None:
    """All runs since the change count for the headline, the last three for the severity."""
    story = settled_story()
    story.runs(12, GOOD)

    opened = story.runs(5, MetricCount(10, 2))[-1:]

    assert opened == [["opened"]]
    assert story.gauge.recent == ((8, 10),) * 5


def test_a_collapse_of_an_open_alarm_is_severe_with_its_second_run() -> None:
    """Good runs within the alarm do not outweigh the bad ones."""
    story = settled_story(MetricCount(11, 0))
    story.runs(9, MetricCount(11, 1))
    assert story.severity == 1
    story.run(MetricCount(46, 4))

    severities = []
    for _ in range(2):
        story.run(MetricCount(11, 11))
        severities.append(story.severity)

    assert severities == [2, 3]


@pytest.mark.parametrize(
    "metric", [CLOSURE, Metric.REASONING_REPLAY_ERROR, PARSE], ids=lambda metric: metric.value
)
def test_a_new_refusal_opens_an_alarm_at_once(metric: Metric) -> None:
    """A replay 400, a refused closure or missing tools need no statistics and no baseline."""
    story = Story(metric=metric)
    story.run(GOOD)

    (opened,) = story.run(REFUSED)

    assert (opened.kind, opened.severity) == (ChangeKind.OPENED, Severity.S3)
    assert opened.figures["refused"] is True


def test_a_refusal_of_a_new_kind_of_trial_opens_at_once() -> None:
    """An endpoint that starts to reason, and refuses its reasoning, has degraded."""
    story = Story(metric=Metric.REASONING_REPLAY_ERROR)
    story.run({PARSE: GOOD})

    assert kinds(story.run(REFUSED)) == ["opened"]


def test_a_refusal_since_the_first_run_is_no_degradation() -> None:
    """It is a capability that the endpoint never had."""
    story = Story(metric=CLOSURE)

    changes = story.runs(60, REFUSED)

    assert [kinds for kinds in changes if kinds] == [["frozen"]]


@pytest.mark.parametrize("trials", [1, 12])
def test_a_metric_that_never_worked_raises_no_alarm(trials: int) -> None:
    """Years of failing since the start are no degradation."""
    story = Story(metric=Metric.PARALLEL_DOWNGRADE)

    changes = story.runs(1000, MetricCount(trials, trials))

    assert [kinds for kinds in changes if kinds] == [["frozen"]]


@pytest.mark.parametrize(
    "count",
    [MetricCount(1, 1, refused=1), MetricCount(10, 4, refused=4), MetricCount(10, 10)],
    ids=["a single one", "less than half", "failed without a refusal"],
)
def test_few_refusals_wait_for_statistics(count: MetricCount) -> None:
    """A single refusal may be a blip; fewer than half of the trials open no alarm."""
    story = settled_story(metric=CLOSURE)

    assert "opened" not in kinds(story.run(count))


def test_two_serious_alarms_at_once_become_severe() -> None:
    """Both become S3, each naming the other."""
    both = {PARSE: HALF, CLOSURE: HALF}
    story = settled_story(dict.fromkeys(both, GOOD))
    story.runs(2, both)

    changes = story.run(both)

    assert kinds(changes) == ["opened", "opened", "escalated", "escalated"]
    assert {alarm.severity for alarm in story.watch.alarms.values()} == {Severity.S3}
    together = {change.metric: change.figures.get("together_with") for change in changes[2:]}
    assert together == {PARSE: [CLOSURE.value], CLOSURE: [PARSE.value]}


def test_blocked_calls_and_schema_failures_are_one_fault() -> None:
    """One fault that two metrics see is not two."""
    both = {Metric.SCHEMA_FAILURE: HALF, Metric.UNSAFE_BLOCKED: HALF}
    story = settled_story(dict.fromkeys(both, GOOD))
    story.runs(3, both)

    assert {alarm.severity for alarm in story.watch.alarms.values()} == {Severity.S2}


def test_a_mild_alarm_beside_a_bad_one_makes_neither_worse() -> None:
    """Only alarms of S2 and above count."""
    both = {PARSE: HALF, Metric.PARALLEL_DOWNGRADE: MetricCount(10, 1)}
    story = settled_story(dict.fromkeys(both, GOOD))
    story.runs(10, both)

    severities = {metric: alarm.severity for metric, alarm in story.watch.alarms.items()}
    assert severities == {PARSE: Severity.S2, Metric.PARALLEL_DOWNGRADE: Severity.S1}


def test_another_suite_version_starts_over_and_ends_open_alarms() -> None:
    """Other probes are harder or easier, so earlier runs do not compare."""
    story = settled_story()
    story.runs(2, DEAD)

    changes = story.run(DEAD, version="tool-probe-v2")

    assert kinds(changes) == ["superseded"]
    assert not story.watch.alarms
    assert story.watch.runs == 1
    assert story.gauge.baseline.trials == 10
