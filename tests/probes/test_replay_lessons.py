"""Which reasoning goes back is learnt in a run, and known to the next one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from health.capabilities import derive_capabilities
from probes.messages import Role, Text, Turn
from probes.outcomes import Attempt, Metric, Outcome
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import Trial
from probes.suite.replay_lessons import Lesson, ReplayLessons
from probes.target import Provider, Target
from simulators import virtual_time
from simulators.in_process import InProcessTransport
from simulators.server import build_app
from tests.probes.suite.script_player import call, thought

NAMES = ("round_trip", "parallel_mixed", "error_repair", "reasoning_replay", "closure")
TRIALS = tuple(Trial(name, trial) for name in NAMES for trial in (1, 2))
ROUND_TRIPS = tuple(Trial("round_trip", trial) for trial in range(1, 7))
# The vendor's replay rule, its provider, and the capability that is measured.
WRONG_GUESSES = (
    ("openai", "wants-reasoning-same-turn", "required_same_turn"),
    ("openai", "wants-reasoning-all-turns", "required_all_turns"),
    ("qwen", "rejects-reasoning", "rejected"),
)
BASES = {"openai": "openai/v1", "qwen": "qwen/v1", "deepseek": "deepseek/v1"}
MODELS = {"openai": "sim-steady", "qwen": "sim-max", "deepseek": "sim-v4"}


def probe(
    provider: str, fault: str, trials: Sequence[Trial] = TRIALS, *, known: str = ""
) -> tuple[list[Attempt], int]:
    """The attempts, and how many requests were refused."""
    url = f"http://e.test/with/{fault}/{BASES[provider]}"
    target = Target(
        Provider(provider), url, MODELS[provider], Secret("sim-lessons"), max_concurrency=1
    )

    async def collect() -> tuple[list[Attempt], int]:
        async with InProcessTransport(build_app(latency=(0, 0))) as transport:
            stream = run_trials(target, trials, seed=1, transport=transport, reasoning_replay=known)
            attempts = [attempt async for attempt in stream]
            return attempts, transport.statuses[400]

    return virtual_time.run(collect())


def verdicts(attempts: Sequence[Attempt], metric: Metric) -> list[bool]:
    return [v.good for attempt in attempts for v in attempt.verdicts if v.metric is metric]


@pytest.mark.parametrize(("provider", "fault", "rule"), WRONG_GUESSES)
def test_a_wrong_guess_is_refused_once_and_fails_nothing(
    provider: str, fault: str, rule: str
) -> None:
    """One refusal teaches the rule for all attempts that follow."""
    attempts, refusals = probe(provider, fault, ROUND_TRIPS)

    assert refusals == 1
    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}
    assert verdicts(attempts, Metric.REASONING_REPLAY_ERROR) == [True] * len(ROUND_TRIPS)
    assert verdicts(attempts, Metric.CLOSURE_ERROR) == [True] * len(ROUND_TRIPS)


@pytest.mark.parametrize(("provider", "fault", "rule"), WRONG_GUESSES)
def test_the_next_run_starts_with_the_measured_rule(provider: str, fault: str, rule: str) -> None:
    """Then no question is refused that does not break a rule on purpose."""
    first, _ = probe(provider, fault)
    measured = derive_capabilities(first, "openai")["reasoning_replay"].value
    assert measured == rule

    attempts, refusals = probe(provider, fault, ROUND_TRIPS, known=str(measured))

    assert refusals == 0
    assert all(verdicts(attempts, Metric.REASONING_REPLAY_ERROR))
    assert verdicts(attempts, Metric.CLOSURE_ERROR) == [True] * len(ROUND_TRIPS)


@pytest.mark.parametrize(("provider", "fault", "rule"), WRONG_GUESSES)
def test_broken_histories_break_no_second_rule(provider: str, fault: str, rule: str) -> None:
    """They are refused for their calls and results, never for the reasoning."""
    attempts, _ = probe(provider, fault)

    violations = derive_capabilities(attempts, "openai")["violations"].value
    assert isinstance(violations, dict)
    assert {str(kind).partition("_")[0] for kind in violations.values()} == {"closure"}
    assert derive_capabilities(attempts, "openai")["trimmed_history"].value == "taken"


@pytest.mark.parametrize("known", ["tolerated", "required_same_turn", "required_all_turns"])
def test_a_vendor_that_changes_its_rule_fails_until_that_is_learnt(known: str) -> None:
    """The last run measured that reasoning may come back; now it is rejected."""
    attempts, refusals = probe("qwen", "rejects-reasoning", ROUND_TRIPS, known=known)

    assert refusals == 1
    assert sorted(verdicts(attempts, Metric.REASONING_REPLAY_ERROR)) == [False] + [True] * 5


@pytest.mark.parametrize("provider", ["openai", "deepseek"])
def test_a_vendor_that_refuses_every_replay_fails_every_trial(provider: str) -> None:
    """There is nothing to learn from it."""
    attempts, _ = probe(provider, "refuses-replay")

    assert not any(verdicts(attempts, Metric.REASONING_REPLAY_ERROR))
    assert len(verdicts(attempts, Metric.REASONING_REPLAY_ERROR)) == len(TRIALS)


ASKED = Turn(Role.USER, (Text("Go."),))
CALLED = Turn(Role.ASSISTANT, (thought(), call("probe_add", {})))
SAME_TURN, LATER_TURN = (ASKED, CALLED), (ASKED, CALLED, ASKED)


def test_a_history_that_is_taken_proves_the_rule_for_its_kind() -> None:
    """A rule that holds within a turn may still be wrong for later ones."""
    lessons = ReplayLessons()
    assert not lessons.is_proven(Lesson.STARTING, SAME_TURN)

    lessons.prove(Lesson.STARTING, SAME_TURN)

    assert lessons.is_proven(Lesson.STARTING, SAME_TURN)
    assert not lessons.is_proven(Lesson.STARTING, LATER_TURN)


@pytest.mark.parametrize("value", ["", "none", "unknown", "unsettled"])
def test_an_unmeasured_rule_is_an_assumption(value: str) -> None:
    """A run that saw no reasoning, or did not settle the rule, leaves the dialect's guess."""
    assert not ReplayLessons.from_measured(value).is_proven(Lesson.STARTING, SAME_TURN)


def test_a_measured_rule_and_a_lesson_hold_for_every_history() -> None:
    """Both were taken as a rule of the endpoint."""
    measured, learnt = ReplayLessons.from_measured("rejected"), ReplayLessons()
    learnt.learn(Lesson.ALL)

    for turns in (SAME_TURN, LATER_TURN):
        assert measured.is_proven(Lesson.STARTING, turns)
        assert learnt.is_proven(learnt.rule, turns)
