"""Properties of every probe of the suite."""

from __future__ import annotations

import asyncio
import random

import pytest

from benchmarks.probing import SEED, rounds
from probes.adapters import adapter_for
from probes.dialects import DIALECTS
from probes.errors import TargetError
from probes.messages import Role
from probes.outcomes import Attempt, FindingKind
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import (
    PROBES,
    ROUNDS,
    SUITES,
    Probe,
    Question,
    Trial,
    is_streamed,
    order_trials,
    plan_trials,
)
from probes.suite.question_builder import QuestionBuilder
from probes.target import Provider, Target
from simulators import virtual_time
from simulators.in_process import InProcessTransport
from simulators.server import build_app
from tests.probes.suite.script_player import (
    ScriptedAnswer,
    call,
    calls,
    play_by_question,
    prose,
    refusal,
    thought,
)

# They send no tools, and ask about text.
WITHOUT_TOOLS = ("late_system", "prompted_tools")
EVERY = pytest.mark.parametrize("probe", PROBES.values(), ids=lambda probe: probe.name)


@EVERY
def test_a_probe_explains_itself(probe: Probe) -> None:
    """Its question, what passes, what fails and what it settles are sentences."""
    assert probe.question.endswith("?")
    for text in (probe.settles, probe.passes, probe.fails):
        assert text.endswith(".")
        assert text[0].isupper()


@EVERY
def test_a_probe_draws_new_values_for_each_seed(probe: Probe) -> None:
    """Equal seeds draw equal values; other seeds draw others, if there is anything to draw."""
    first, repeated, other = (probe.draw(random.Random(seed)) for seed in (1, 1, 2))

    assert first == repeated
    assert first != other or not first.values


@EVERY
@pytest.mark.parametrize("provider", Provider)
def test_a_question_can_be_written_for_every_provider(probe: Probe, provider: Provider) -> None:
    """Every wire format can express every first question."""
    adapter = adapter_for(provider)
    builder = QuestionBuilder("m", DIALECTS[provider], adapter.format)

    for question in next(probe.script(probe.draw(random.Random(3)), builder)):
        assert adapter.write_request(question.call)
        assert bool(question.call.tools) == (probe.name not in WITHOUT_TOOLS)


def obedient(question: Question) -> ScriptedAnswer:
    """A call of the last offered tool, whatever the question."""
    if not question.call.tools:
        return prose()
    return calls(thought(), call(question.call.tools[-1].name, {"a": 1, "b": 2}, "c1"))


def demanding(question: Question) -> ScriptedAnswer:
    """Refuses every history until it contains all reasoning."""
    has_results = any(turn.role is Role.TOOL for turn in question.call.turns)
    if has_results and not question.label.endswith("all reasoning"):
        return refusal(FindingKind.REPLAY_MISSING)
    return obedient(question)


@EVERY
@pytest.mark.parametrize("endpoint", [obedient, demanding, lambda question: prose()])
def test_a_probe_asks_no_more_than_it_plans(probe: Probe, endpoint: object) -> None:
    """The plan is an upper limit, whatever the endpoint does."""
    played = play_by_question(probe, probe.draw(random.Random(4)), endpoint)  # type: ignore[arg-type]

    assert len(played.questions) <= probe.requests


@EVERY
def test_an_endpoint_that_refuses_tools_fails_what_is_owed(probe: Probe) -> None:
    """A refusal of tools is a failure of the endpoint, and each refusal metric fails."""
    played = play_by_question(
        probe, probe.draw(random.Random(5)), lambda question: refusal(FindingKind.NO_TOOLS)
    )

    assert (played.outcome, played.kinds) == ("fail", ["no_tools"])
    assert played.trials == {str(metric): [False] for metric in probe.refusal_metrics}


@EVERY
def test_trouble_on_the_first_question_is_no_verdict(probe: Probe) -> None:
    """Void counts in no rate."""
    played = play_by_question(
        probe, probe.draw(random.Random(6)), lambda question: refusal(FindingKind.PROVIDER_ERROR)
    )

    assert (played.outcome, played.kinds, played.trials) == ("void", ["provider_error"], {})


def test_suites_plan_known_probes_in_order() -> None:
    """A plan is the table multiplied out, and every name in it exists."""
    for suite, rows in SUITES.items():
        assert plan_trials(suite) == tuple(
            Trial(name, trial) for name, times in rows for trial in range(1, times + 1)
        )
        assert {name for name, _ in rows} <= set(PROBES)
    assert all(probe.name == name for name, probe in PROBES.items())
    with pytest.raises(TargetError, match="no suite 'tiny'"):
        plan_trials("tiny")


def test_the_full_suite_asks_every_probe_and_the_light_one_fewer() -> None:
    """Light is a part of full, and cheaper."""
    assert {name for name, _ in SUITES["full"]} == set(PROBES)
    assert set(plan_trials("light")) < set(plan_trials("full"))


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("seed", ["a", "b", 7, 8])
def test_about_half_of_a_suite_streams(suite: str, seed: str | int) -> None:
    """Whole and streamed attempts are balanced in every run."""
    trials = plan_trials(suite)
    share = sum(is_streamed(trial, seed) for trial in trials) / len(trials)

    assert 0.4 <= share <= 0.6


def test_over_many_runs_every_trial_is_asked_both_ways() -> None:
    """The seed decides which half streams."""
    for trial in plan_trials("light"):
        assert {is_streamed(trial, seed) for seed in range(20)} == {True, False}


def test_the_longest_scripts_start_first() -> None:
    """All trials, in the order of the suite among equals."""
    planned = plan_trials("full")
    ordered = order_trials(planned)

    waits = [ROUNDS.get(trial.probe, 1) for trial in ordered]
    assert waits == sorted(waits, reverse=True)
    assert sorted(ordered, key=planned.index) == list(planned)
    assert [t for t in ordered if t.probe not in ROUNDS] == [
        t for t in planned if t.probe not in ROUNDS
    ]


LATENCY_S = 1.0


def measure_full_suite(provider: Provider, path: str, model: str) -> tuple[list[Attempt], float]:
    """The attempts of a vendor whose answers take a second each, and the time of the run."""
    transport = InProcessTransport(build_app(latency=(LATENCY_S, LATENCY_S)))
    target = Target(
        provider, f"http://vendors.test/{path}", model, Secret("sim-key"), max_concurrency=64
    )

    async def collect() -> tuple[list[Attempt], float]:
        loop = asyncio.get_running_loop()
        started = loop.time()
        trials = plan_trials("full")
        attempts = [a async for a in run_trials(target, trials, seed=SEED, transport=transport)]
        return attempts, loop.time() - started

    return virtual_time.run(collect())


@pytest.mark.parametrize(
    ("provider", "path", "model"),
    [
        (Provider.OPENAI, "openai/v1", "sim-steady"),
        (Provider.DEEPSEEK, "deepseek/v1", "sim-v4"),
    ],
)
def test_a_run_takes_as_long_as_its_longest_script(
    provider: Provider, path: str, model: str
) -> None:
    """No long script waits for a slot while short ones run; and the table has its length."""
    attempts, took_s = measure_full_suite(provider, path, model)
    target = Target(provider, f"http://vendors.test/{path}", model)
    waits = {attempt.probe: rounds(target, attempt) for attempt in attempts}

    assert took_s == max(waits.values()) * LATENCY_S
    assert all(waits[probe] <= ROUNDS.get(probe, 1) for probe in waits)
    in_full = {probe: ROUNDS[probe] for probe in ("chain", "closure", "image_result")}
    assert {probe: waits[probe] for probe in in_full} == in_full
