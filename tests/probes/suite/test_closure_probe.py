from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from probes.dialects import DIALECTS
from probes.history.call_closure import check_closure
from probes.messages import Role
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.closure_probe import CLOSURE, GREETING
from probes.suite.question_builder import QuestionBuilder
from probes.target import Provider
from tests.probes.suite.script_player import (
    DEEPSEEK,
    OPENAI,
    Played,
    ScriptedAnswer,
    by_label,
    call,
    calls,
    play_by_question,
    prose,
    refusal,
    thought,
)

DRAWN = DrawnValues({"a": 1, "b": 2, "nonce": "amber-7", "message": "hi 1", "tag": "beta"})
ADD = calls(call("probe_add", {"a": 1, "b": 2}))
NEXT = calls(call("probe_echo", {"message": "hi 1", "tag": "beta"}, "c2"))
ANSWERS: dict[str, ScriptedAnswer] = {
    "asked": ADD,
    "whole": prose("amber-7"),
    "missing": refusal(FindingKind.CLOSURE_MISSING),
    "orphan": refusal(FindingKind.CLOSURE_ORPHAN),
    "duplicate": refusal(FindingKind.CLOSURE_DUPLICATE),
    "trimmed": NEXT,
}


def play_closure(**over: ScriptedAnswer) -> Played:
    return play_with(OPENAI, over)


def play_with(builder: QuestionBuilder, over: Mapping[str, ScriptedAnswer]) -> Played:
    return play_by_question(CLOSURE, DRAWN, by_label({**ANSWERS, **over}), builder=builder)


def test_a_whole_and_a_trimmed_history_that_are_taken_pass() -> None:
    """The refusals of broken histories are recorded by kind."""
    played = play_closure()

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.rounds == [
        ("asked",),
        ("whole",),
        ("missing", "orphan", "duplicate"),
        ("trimmed",),
    ]
    assert played.facts["trimmed"] == "taken"
    assert played.facts["violations"] == {
        "missing": "closure_missing",
        "orphan": "closure_orphan",
        "duplicate": "closure_duplicate",
    }
    assert played.trials["parse_success"] == [True, True]


def test_an_endpoint_that_takes_broken_histories_passes_and_is_told() -> None:
    """Tolerance is a fact, not a failure, and no trial of closure."""
    played = play_closure(missing=prose(), orphan=prose(), duplicate=prose())

    assert played.outcome == "pass"
    assert played.facts["violations"] == {
        "missing": "taken",
        "orphan": "taken",
        "duplicate": "taken",
    }
    assert False not in played.trials["closure_error"]


def test_the_histories_are_broken_as_they_are_named() -> None:
    """Each violates one rule of our own check; the whole and the trimmed one violate none."""
    played = play_closure()

    violations = {
        label: {str(finding.kind) for finding in check_closure(played.call(label).turns)}
        for label in ("whole", "missing", "orphan", "duplicate", "trimmed")
    }
    assert violations["whole"] == violations["trimmed"] == set()
    assert violations["missing"] == {"closure_missing"}
    assert "closure_orphan" in violations["orphan"]
    assert "closure_duplicate" in violations["duplicate"]


def test_trimming_drops_the_beginning_and_keeps_the_chain() -> None:
    """The greeting is dropped; the call stays with its result."""
    played = play_closure()

    turns = played.call("trimmed").turns
    assert GREETING not in str(turns[0].parts)
    assert [turn.role for turn in turns] == [
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
        Role.ASSISTANT,
        Role.USER,
    ]
    (result,) = turns[2].results
    assert json.loads(result.content) == {"nonce": "amber-7"}


@pytest.mark.parametrize("label", ["whole", "trimmed"])
@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (FindingKind.CLOSURE_MISSING, "fail"),
        (FindingKind.ID_FORMAT, "fail"),
        (FindingKind.PROVIDER_ERROR, "void"),
    ],
)
def test_a_right_history_that_is_refused_fails(label: str, kind: FindingKind, outcome: str) -> None:
    """A refusal because of calls and results is a failure; any other is no verdict."""
    played = play_closure(**{label: refusal(kind)})

    assert (played.outcome, played.kinds) == (outcome, [str(kind)])
    assert (False in played.trials.get("closure_error", [])) == (outcome == "fail")
    if label == "trimmed":
        assert played.facts["trimmed"] == str(kind)
    else:
        assert "trimmed" not in played.facts


def test_a_trimmed_history_still_owes_its_call() -> None:
    """An accepted history without the requested call is a failed turn."""
    played = play_closure(trimmed=prose())

    assert (played.outcome, played.kinds) == ("fail", ["no_call"])
    assert played.trials["parse_success"] == [True, False]


def test_without_a_first_call_there_is_no_history() -> None:
    """The script ends with the missing call."""
    played = play_closure(asked=prose())

    assert (played.outcome, played.kinds, played.rounds) == ("fail", ["no_call"], [("asked",)])
    assert "violations" not in played.facts


def test_a_model_that_calls_again_is_answered_and_asked_on() -> None:
    """A call instead of the answer must not leave the history open."""
    played = play_closure(whole=calls(call("probe_add", {"a": 1, "b": 2}, "c7")))

    assert played.outcome == "pass"
    assert check_closure(played.call("trimmed").turns) == []
    ids = [r.call_id for turn in played.call("trimmed").turns for r in turn.results]
    assert ids == ["c1", "c7"]


REASONED = calls(thought(), call("probe_add", {"a": 1, "b": 2}))


def reasoned_labels(played: Played) -> set[str]:
    """The questions that carry reasoning."""
    return {q.label for q in played.questions if "Hm." in str(q.call.turns)}


def test_broken_histories_carry_the_reasoning_that_the_refusal_taught() -> None:
    """Where reasoning is required, a history without its result lacks nothing else."""
    played = play_with(
        OPENAI,
        {
            "asked": REASONED,
            "whole": refusal(FindingKind.REPLAY_MISSING),
            "whole, with all reasoning": prose("amber-7"),
        },
    )

    assert played.outcome == "pass"
    assert reasoned_labels(played) == {
        "whole, with all reasoning",
        "missing",
        "duplicate",
        "trimmed",
    }
    assert played.trials["reasoning_replay_error"] == [True, True]


def test_broken_histories_leave_out_reasoning_that_is_rejected() -> None:
    """Otherwise their refusal would be about the reasoning."""
    played = play_with(
        DEEPSEEK,
        {
            "asked": REASONED,
            "whole": refusal(FindingKind.PARAM_UNKNOWN),
            "whole, without reasoning": prose("amber-7"),
        },
    )

    assert played.outcome == "pass"
    assert reasoned_labels(played) == {"whole"}
    assert played.trials["closure_error"] == [True, True]


NUMBERED = "functions.probe_add:0"


def test_broken_histories_are_sent_under_mapped_ids() -> None:
    """Otherwise a vendor that wants ids of another form refuses them for their ids."""
    anthropic = QuestionBuilder("m", DIALECTS[Provider.ANTHROPIC], "anthropic")
    played = play_with(anthropic, {"asked": calls(call("probe_add", {"a": 1, "b": 2}, NUMBERED))})

    for label in ("whole", "missing", "orphan", "duplicate", "trimmed"):
        assert NUMBERED not in str(played.call(label).turns)
    (sent,) = played.call("whole").turns[-2].calls
    assert sent.id == "functions_probe_add_0"
    assert [made.id for turn in played.call("missing").turns for made in turn.calls] == [sent.id]
    results = [result.call_id for result in played.call("duplicate").turns[-1].results]
    assert results == [sent.id, sent.id]
