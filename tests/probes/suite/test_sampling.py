from __future__ import annotations

from datetime import UTC, datetime

import pytest

from probes.errors import TargetError
from probes.outcomes import Attempt, Evidence, Outcome
from probes.suite import PROBES, Trial, plan_trials
from probes.suite.question_builder import MAX_TOKENS
from probes.suite.sampling import (
    MAX_PROMPT_TOKENS,
    MAX_SAMPLES,
    estimate_price,
    first_trials,
    further_trials,
)

PASS, FAIL, VOID = Outcome.PASS, Outcome.FAIL, Outcome.VOID
ROOM = 10_000


def attempts_of(probe: str, *outcomes: Outcome) -> list[Attempt]:
    return [
        Attempt(probe, trial, outcome, (), (), Evidence(), datetime.now(UTC))
        for trial, outcome in enumerate(outcomes, 1)
    ]


def test_a_plan_costs_what_its_probes_ask_at_most() -> None:
    """Requests are those of the probes; tokens are the maximum of each request."""
    trials = [Trial("format", 1), Trial("round_trip", 1), Trial("round_trip", 2)]

    requests = PROBES["format"].requests + 2 * PROBES["round_trip"].requests
    assert estimate_price(trials).requests == requests
    assert estimate_price(trials).tokens == requests * (MAX_TOKENS + MAX_PROMPT_TOKENS)
    assert estimate_price([]).requests == 0


def test_samples_replace_the_suites_own_numbers() -> None:
    """Every probe of the suite, `samples` times, and no others."""
    trials = first_trials("light", 2)

    assert first_trials("light") == plan_trials("light")
    assert {trial.probe for trial in trials} == {trial.probe for trial in plan_trials("light")}
    assert all({Trial(trial.probe, 1), Trial(trial.probe, 2)} <= set(trials) for trial in trials)
    assert len(trials) == 2 * len({trial.probe for trial in trials})


def test_an_unknown_suite_is_refused_with_those_there_are() -> None:
    """The error lists the existing suites."""
    with pytest.raises(TargetError, match="no suite 'medium'; there are light, full"):
        first_trials("medium", 3)


@pytest.mark.parametrize(
    "outcomes",
    [(PASS,), (PASS, PASS), (FAIL, FAIL, FAIL), (PASS, VOID), (VOID, VOID), (FAIL, VOID, VOID)],
)
def test_a_clear_answer_is_not_asked_for_again(outcomes: tuple[Outcome, ...]) -> None:
    """Equal verdicts are clear; void is no verdict."""
    assert further_trials(attempts_of("format", *outcomes), ROOM) == ()


def test_an_unclear_answer_is_asked_for_as_often_again() -> None:
    """Only the probe whose verdicts differ, numbered on from its last trial."""
    attempts = attempts_of("format", PASS, FAIL, PASS) + attempts_of("streaming", PASS, PASS)

    assert further_trials(attempts, ROOM) == tuple(Trial("format", n) for n in (4, 5, 6))


def test_no_probe_is_asked_without_end() -> None:
    """Doubling stops at a limit."""
    many = attempts_of("format", *[PASS, FAIL] * (MAX_SAMPLES // 2 - 1))
    full = attempts_of("format", *[PASS, FAIL] * (MAX_SAMPLES // 2))

    assert [t.trial for t in further_trials(many, ROOM)] == [MAX_SAMPLES - 1, MAX_SAMPLES]
    assert further_trials(full, ROOM) == ()


def test_more_samples_stay_within_the_room_that_is_left() -> None:
    """Trials are added only while they fit."""
    attempts = attempts_of("round_trip", PASS, FAIL, PASS)
    each = PROBES["round_trip"].requests

    assert len(further_trials(attempts, 2 * each)) == 2
    assert len(further_trials(attempts, 2 * each - 1)) == 1
    assert further_trials(attempts, 0) == ()
    assert further_trials(attempts, -5) == ()
