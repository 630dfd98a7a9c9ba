"""The played runs of one endpoint: times, triggers and reproducibility."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from itertools import pairwise

from dashboard.demo.player import SimulatedRun
from probes.outcomes import Outcome
from probes.suite import plan_trials
from tests.dashboard.demo.story_player import BEGAN, DAY, FLEET, first_run, play_days, story_day


def run_as_text(run: SimulatedRun) -> str:
    """A run as text, without the current time that some vendors put into a response."""
    attempts = json.dumps([attempt.as_json() for attempt in run.attempts])
    attempts = re.sub(r'(created(_at)?\\": ?)\d+', r"\1", attempts)
    return f"{run.at} {run.trigger} {run.suite} {run.seed} {run.took} {run.engine} {attempts}"


def test_the_same_seed_plays_the_same_history() -> None:
    """Times, requests, responses, verdicts and latencies are reproducible."""
    first = [run_as_text(run) for run in play_days("demo-sloppy", days=(0, 0.07))]

    assert first == [run_as_text(run) for run in play_days("demo-sloppy", days=(0, 0.07))]
    assert first != [run_as_text(run) for run in play_days("demo-sloppy", days=(0, 0.07), seed=1)]


def test_runs_are_in_order_and_end_in_time() -> None:
    """After the onboarding runs the interval is about twelve hours."""
    runs = play_days("demo-fading", days=(0, 5))

    assert all(0 <= story_day(run) < 5 for run in runs)
    gaps = [later.at - earlier.at - earlier.took for earlier, later in pairwise(runs)]
    assert all(timedelta(minutes=6.3) <= gap <= timedelta(minutes=7.7) for gap in gaps[:19])
    assert all(timedelta(hours=10.8) <= gap <= timedelta(hours=13.2) for gap in gaps[19:])
    assert len(set(gaps)) == len(gaps), "endpoints must not be probed in step"
    assert runs[-1].at + timedelta(hours=13.3) >= BEGAN + 5 * DAY


def test_the_first_run_is_full_and_the_others_light() -> None:
    """Each run has exactly the trials of its suite."""
    runs = play_days("demo-steady", days=(0, 2))

    assert [run.trigger for run in runs] == ["baseline"] * 20 + ["ttl"] * (len(runs) - 20)
    assert [run.suite for run in runs] == ["full"] + ["light"] * (len(runs) - 1)
    for run in runs:
        trials = {(attempt.probe, attempt.trial) for attempt in run.attempts}
        assert trials == {(trial.probe, trial.trial) for trial in plan_trials(run.suite)}


def test_times_are_those_of_the_story() -> None:
    """Attempts start within their run, with the latencies of live vendors."""
    for run in play_days("demo-steady", days=(3, 3.1)):
        assert {a.outcome for a in run.attempts} == {Outcome.PASS}
        assert all(run.at <= a.started_at <= run.at + run.took for a in run.attempts)
        assert all(80 <= (a.latency_ms or 0) <= 250 for a in run.attempts)
        assert timedelta(seconds=0.2) < run.took < timedelta(minutes=1)


def test_a_story_can_be_played_from_its_middle() -> None:
    """The first run has the state of the story at that day."""
    run = first_run("demo-llamacpp", day=10)

    assert 10 <= story_day(run) < 10.1
    assert run.engine == first_run("demo-llamacpp", day=20).engine
    assert run.engine != first_run("demo-llamacpp").engine


def test_evidence_names_the_registered_address_and_no_key() -> None:
    """The evidence has the registered URL and no key."""
    run = first_run("demo-gemini")
    evidence = json.dumps([attempt.evidence.as_json() for attempt in run.attempts])

    assert FLEET["demo-gemini"].base_url in evidence
    assert "sim-demo-key" not in evidence
