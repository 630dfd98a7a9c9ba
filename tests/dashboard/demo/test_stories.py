"""The history that is played follows the stories that the vendors tell."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from dashboard.demo.demo_fleet import FleetMember
from dashboard.demo.player import SimulatedRun
from probes.outcomes import Metric, Outcome
from tests.dashboard.demo.story_player import BEGAN, bad, day_of, played, rate


@pytest.fixture(scope="module")
def outage() -> list[SimulatedRun]:
    """Days of an endpoint that is down for six hours of the third."""
    return played("demo-claude", days=(1.9, 3.5))


def test_a_slow_decay_begins_on_its_day_and_ends_at_its_worst() -> None:
    """No call leaks in the first five days; from the nineteenth on about six in ten do."""
    early = played("demo-fading", days=(0, 5))
    late = played("demo-fading", days=(24, 25))

    assert [bad(run, Metric.LEAK) for run in early] == [0] * len(early)
    leaks = [rate(run, Metric.LEAK) for run in late]
    assert 0.5 < sum(b for b, _ in leaks) / sum(of for _, of in leaks) < 0.7


def test_a_slow_decay_grows() -> None:
    """Half way up, fewer calls leak than at the end and more than at the beginning."""
    half = [rate(run, Metric.LEAK) for run in played("demo-fading", days=(11.5, 12.5))]

    assert 0.1 < sum(b for b, _ in half) / sum(of for _, of in half) < 0.5


def test_an_outage_is_void_for_its_six_hours_and_for_no_longer(outage: list[SimulatedRun]) -> None:
    """Void attempts lie between hour 54 and hour 60, and nothing fails on either side."""
    down = [run for run in outage if run.is_fruitless]

    assert down
    assert all(54 <= day_of(run) * 24 < 60 for run in down)
    others = {a.outcome for run in outage if not run.is_fruitless for a in run.attempts}
    assert others == {Outcome.PASS}


def test_a_run_without_a_verdict_is_soon_tried_again(outage: list[SimulatedRun]) -> None:
    """As on the real schedule: after a quarter of an hour, then ever less soon."""
    waits = [b.at - a.at - a.took for a, b in pairwise(outage) if a.is_fruitless]

    assert len(waits) > 2
    quarters = [wait / timedelta(minutes=15) for wait in waits]
    assert quarters == pytest.approx([2**number for number in range(len(waits))])


def test_an_endpoint_that_is_down_has_no_new_template() -> None:
    """What cannot be read is not known; it is no change of the profile key, nor is its return."""
    address = "http://127.0.0.1:8900/with/down,from=36000,until=90000/llamacpp/v1"
    runs = played(FleetMember("x", "openai", address, "sim-steady"), days=(0, 2))

    told = [bool(run.engine.chat_template_hash) for run in runs]
    assert (told[0], False in told, told[-1]) == (True, True, True)
    assert {run.trigger for run in runs} == {"baseline", "ttl"}


def test_a_mended_template_changes_the_hash_once_and_ends_the_leaks() -> None:
    """The first run after day 7 sees the new hash, is full, and begins another burst."""
    runs = played("demo-llamacpp", days=(6.5, 8.5))
    before = [run for run in runs if day_of(run) < 7]
    after = [run for run in runs if day_of(run) >= 7]

    assert "key_change" not in {run.trigger for run in before}
    assert [run.trigger for run in after[:21]] == ["key_change", *["baseline"] * 19, "ttl"]
    assert (after[0].suite, after[1].suite) == ("full", "light")
    assert len({run.engine.chat_template_hash for run in before}) == 1
    assert len({run.engine.chat_template_hash for run in after}) == 1
    assert before[0].engine.chat_template_hash != after[0].engine.chat_template_hash
    assert sum(bad(run, Metric.LEAK) for run in before) > 0
    assert sum(bad(run, Metric.LEAK) for run in after) == 0


def test_a_lost_replay_is_refused_from_the_tenth_day_on() -> None:
    """Not one replay error before, and in every run since."""
    runs = played("demo-relay", days=(9.8, 11))
    errors = [(day_of(run) >= 10, bad(run, Metric.REASONING_REPLAY_ERROR) > 0) for run in runs]

    assert set(errors) == {(False, False), (True, True)}


def test_a_flapping_vendor_leaks_in_some_runs_and_not_in_most() -> None:
    """Twenty minutes of every two hours are hit now and then, the rest of the time is clean."""
    runs = played("demo-flapping", days=(0, 6))
    flapping = [run for run in runs if bad(run, Metric.LEAK)]

    assert all((run.at - BEGAN) % timedelta(hours=2) < timedelta(minutes=20) for run in flapping)
    assert 0 < len(flapping) < len(runs) / 2
    assert not bad(runs[0], Metric.LEAK), "its first run is the reference of all others"
