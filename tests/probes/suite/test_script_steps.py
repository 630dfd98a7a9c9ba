from __future__ import annotations

import pytest

from probes.messages import Reasoning, ReasoningKind, Role, Text, ToolCall, ToolResult, Turn
from probes.outcomes import FindingKind, Metric, Verdict
from probes.suite.base import Answer
from probes.suite.probe_tools import PROBE_ECHO
from probes.suite.script_steps import (
    CLOSURE_KINDS,
    REPLAY_KINDS,
    ScriptSession,
    continuation_verdicts,
    has_reasoned_call,
)
from tests.probes.suite.script_player import OPENAI, call, calls, prose, refusal, thought

USER = Turn(Role.USER, (Text("Go."),))
CALLED = Turn(Role.ASSISTANT, (call("probe_echo", {}),))
REASONED = Turn(Role.ASSISTANT, (thought(), call("probe_echo", {})))
RESULT = Turn(Role.TOOL, (ToolResult("c1", "{}"),))


def counted(turns: tuple[Turn, ...], kind: FindingKind | None) -> dict[str, bool]:
    answer = Answer(prose()) if kind is None else Answer(refusal=refusal(kind))
    return {str(verdict.metric): verdict.good for verdict in continuation_verdicts(turns, answer)}


def test_a_history_without_results_is_no_trial() -> None:
    """A first question tests neither closure nor replay."""
    assert counted((USER,), None) == {}
    assert counted((USER,), FindingKind.CLOSURE_MISSING) == {}


@pytest.mark.parametrize("kind", sorted(CLOSURE_KINDS))
def test_a_refusal_of_pairs_or_ids_is_a_closure_error(kind: FindingKind) -> None:
    """It says nothing about reasoning."""
    assert counted((USER, REASONED, RESULT), kind) == {"closure_error": False}


@pytest.mark.parametrize("kind", sorted(REPLAY_KINDS))
def test_a_refusal_of_reasoning_is_a_replay_error(kind: FindingKind) -> None:
    """Only if the turn reasoned; it says nothing about pairs."""
    assert counted((USER, REASONED, RESULT), kind) == {"reasoning_replay_error": False}
    assert counted((USER, CALLED, RESULT), kind) == {}


def test_a_parameter_that_is_unknown_after_reasoning_is_a_replay_error() -> None:
    """The reasoning is what the request adds to the accepted one before."""
    assert counted((USER, REASONED, RESULT), FindingKind.PARAM_UNKNOWN) == {
        "reasoning_replay_error": False
    }
    assert counted((USER, CALLED, RESULT), FindingKind.PARAM_UNKNOWN) == {}


def test_another_refusal_is_a_trial_of_neither() -> None:
    """An account error says nothing about the history."""
    assert counted((USER, REASONED, RESULT), FindingKind.PROVIDER_ERROR) == {}


def test_an_answer_is_a_good_trial_of_what_the_history_has() -> None:
    """Results make it one of closure, reasoning before a call one of replay."""
    assert counted((USER, CALLED, RESULT), None) == {"closure_error": True}
    assert counted((USER, REASONED, RESULT), None) == {
        "closure_error": True,
        "reasoning_replay_error": True,
    }


def test_reasoning_and_call_must_stand_in_one_turn() -> None:
    """Reasoning beside a plain answer does not count; a signed call does."""
    apart = (Turn(Role.ASSISTANT, (thought(), Text("Hi."))), CALLED)
    signed = ToolCall("c", "f", {}, "gemini", "", extra={"gemini": {"thoughtSignature": "s"}})
    item = Reasoning("", ReasoningKind.ITEM, {"type": "reasoning"})

    assert not has_reasoned_call(apart)
    assert has_reasoned_call((REASONED,))
    assert has_reasoned_call((Turn(Role.ASSISTANT, (signed,)),))
    assert has_reasoned_call((Turn(Role.ASSISTANT, (item, call("f", {}))),))


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (FindingKind.NO_TOOLS, "fail"),
        (FindingKind.SERVER_PARSE, "fail"),
        (FindingKind.SCHEMA_REFUSED, "fail"),
        (FindingKind.PROVIDER_ERROR, "void"),
    ],
)
def test_a_refusal_ends_a_talk_by_what_it_means(kind: FindingKind, outcome: str) -> None:
    """The refusal metrics fail only if the endpoint is at fault."""
    judged = ScriptSession(OPENAI, (PROBE_ECHO,)).judge_refusal(
        Answer(refusal=refusal(kind)), (Metric.PARSE_SUCCESS,)
    )

    owed = (Verdict(Metric.PARSE_SUCCESS, good=False),) if outcome == "fail" else ()
    assert (str(judged.outcome), judged.verdicts) == (outcome, owed)
    assert [finding.kind for finding in judged.findings] == [kind]


def test_trouble_after_a_failed_turn_does_not_undo_the_failure() -> None:
    """Earlier failures stay counted."""
    session = ScriptSession(OPENAI, (PROBE_ECHO,))
    session.judge_turn(prose())

    judged = session.judge_refusal(Answer(refusal=refusal(FindingKind.PROVIDER_ERROR)))

    assert str(judged.outcome) == "fail"
    assert [str(finding.kind) for finding in judged.findings] == ["no_call", "provider_error"]


def test_trouble_after_a_good_turn_is_no_verdict() -> None:
    """Earlier good trials stay counted."""
    session = ScriptSession(OPENAI, (PROBE_ECHO,))
    session.judge_turn(calls(call("probe_echo", {"message": "a", "tag": "beta"})))

    judged = session.judge_refusal(Answer(refusal=refusal(FindingKind.PROVIDER_ERROR)))

    assert str(judged.outcome) == "void"
    assert Verdict(Metric.PARSE_SUCCESS, good=True) in judged.verdicts
