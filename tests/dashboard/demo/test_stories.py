"""The played history shows the faults of the stories."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from dashboard.demo.demo_fleet import FleetMember
from dashboard.demo.player import SimulatedRun
from probes.outcomes import Metric, Outcome
from tests.dashboard.demo.story_player import (
    BEGAN,
    count_failures,
    count_trials,
    play_days,
    story_day,
)


@pytest.fixture(scope="module")
def outage() -> list[SimulatedRun]:
    """Days of an endpoint that is down for six hours on the third day."""
    return play_days("demo-claude", days=(1.9, 3.5))


def test_a_slow_decay_begins_on_its_day_and_ends_at_its_worst() -> None:
    """No call leaks in the first five days; at the end about 60 % do."""
    early = play_days("demo-fading", days=(0, 5))
    late = play_days("demo-fading", days=(24, 25))

    assert [count_failures(run, Metric.LEAK) for run in early] == [0] * len(early)
    leaks = [count_trials(run, Metric.LEAK) for run in late]
    assert 0.5 < sum(b for b, _ in leaks) / sum(of for _, of in leaks) < 0.7


def test_a_slow_decay_grows() -> None:
    """In the middle, more calls leak than at the beginning and fewer than at the end."""
    half = [count_trials(run, Metric.LEAK) for run in play_days("demo-fading", days=(11.5, 12.5))]

    assert 0.1 < sum(b for b, _ in half) / sum(of for _, of in half) < 0.5


def test_an_outage_is_void_for_its_six_hours_and_for_no_longer(outage: list[SimulatedRun]) -> None:
    """Attempts are void between hours 54 and 60, and pass otherwise."""
    down = [run for run in outage if run.has_no_verdict]

    assert down
    assert all(54 <= story_day(run) * 24 < 60 for run in down)
    others = {a.outcome for run in outage if not run.has_no_verdict for a in run.attempts}
    assert others == {Outcome.PASS}


def test_a_run_without_a_verdict_is_retried_soon(outage: list[SimulatedRun]) -> None:
    """The waits double from 15 minutes on, as in the real schedule."""
    waits = [b.at - a.at - a.took for a, b in pairwise(outage) if a.has_no_verdict]

    assert len(waits) > 2
    quarters = [wait / timedelta(minutes=15) for wait in waits]
    assert quarters == pytest.approx([2**number for number in range(len(waits))])


def test_an_endpoint_that_is_down_has_no_new_template() -> None:
    """Neither the outage nor its end changes the profile key."""
    address = "http://127.0.0.1:8900/with/down,from=36000,until=90000/llamacpp/v1"
    runs = play_days(FleetMember("x", "openai", address, "sim-steady"), days=(0, 2))

    has_template = [bool(run.engine.chat_template_hash) for run in runs]
    assert (has_template[0], False in has_template, has_template[-1]) == (True, True, True)
    assert {run.trigger for run in runs} == {"baseline", "ttl"}


def test_a_corrected_template_changes_the_hash_once_and_ends_the_leaks() -> None:
    """The first run after day 7 has the new hash, is full, and starts onboarding runs."""
    runs = play_days("demo-llamacpp", days=(6.5, 8.5))
    before = [run for run in runs if story_day(run) < 7]
    after = [run for run in runs if story_day(run) >= 7]

    assert "key_change" not in {run.trigger for run in before}
    assert [run.trigger for run in after[:21]] == ["key_change", *["baseline"] * 19, "ttl"]
    assert (after[0].suite, after[1].suite) == ("full", "light")
    assert len({run.engine.chat_template_hash for run in before}) == 1
    assert len({run.engine.chat_template_hash for run in after}) == 1
    assert before[0].engine.chat_template_hash != after[0].engine.chat_template_hash
    assert sum(count_failures(run, Metric.LEAK) for run in before) > 0
    assert sum(count_failures(run, Metric.LEAK) for run in after) == 0


def test_a_lost_replay_is_refused_from_the_tenth_day_on() -> None:
    """No run has a replay error before, and every run after."""
    runs = play_days("demo-relay", days=(9.8, 11))
    errors = [
        (story_day(run) >= 10, count_failures(run, Metric.REASONING_REPLAY_ERROR) > 0)
        for run in runs
    ]

    assert set(errors) == {(False, False), (True, True)}


def test_a_flapping_vendor_leaks_in_some_runs_and_not_in_most() -> None:
    """Only runs in 20 minutes of every two hours leak."""
    runs = play_days("demo-flapping", days=(0, 6))
    flapping = [run for run in runs if count_failures(run, Metric.LEAK)]

    assert all((run.at - BEGAN) % timedelta(hours=2) < timedelta(minutes=20) for run in flapping)
    assert 0 < len(flapping) < len(runs) / 2
    assert not count_failures(runs[0], Metric.LEAK), "its first run is the reference of all others"
