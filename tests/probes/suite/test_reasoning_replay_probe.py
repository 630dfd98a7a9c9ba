from __future__ import annotations

from dataclasses import replace

import pytest

from probes.adapters import adapter_for
from probes.dialects import DIALECTS, NAMED
from probes.errors import Refused
from probes.messages import ModelCall, Reasoning, ReasoningKind, Reply, Role, Text
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.question_builder import QuestionBuilder
from probes.suite.reasoning_replay_probe import REASONING_REPLAY
from probes.target import Provider
from tests.probes.suite.script_player import (
    DEEPSEEK,
    DEEPSEEK_MEASURED,
    OPENAI,
    OPENAI_MEASURED,
    Played,
    ScriptedAnswer,
    call,
    calls,
    play,
    play_by_question,
    prose,
    refusal,
    thought,
)

DRAWN = DrawnValues({"a": 1, "b": 2, "nonce": "amber-7", "message": "hi 1", "tag": "beta"})
ADD = call("probe_add", {"a": 1, "b": 2})
REASONED = calls(thought(), ADD)
ANSWER = prose("amber-7")
NEXT = calls(call("probe_echo", {"message": "hi 1", "tag": "beta"}, "c2"))
MISSING = refusal(FindingKind.REPLAY_MISSING)
PLAIN = QuestionBuilder("m", NAMED["plain"], "openai")
GEMINI = QuestionBuilder("m", DIALECTS[Provider.GEMINI], adapter_for(Provider.GEMINI).format)
BRANCHES = ("reasoning: guess", "reasoning: kept", "reasoning: dropped", "reasoning: blanked")


def branches(
    *same: ScriptedAnswer,
    later: tuple[ScriptedAnswer, ScriptedAnswer] | None = (NEXT, NEXT),
    builder: QuestionBuilder = DEEPSEEK,
) -> Played:
    """Guess, kept, dropped and blanked; then a new user turn, kept and dropped."""
    return play(REASONING_REPLAY, DRAWN, REASONED, *same, *(later or ()), builder=builder)


def reasoning_texts(question_call: ModelCall) -> list[str]:
    """The reasoning texts of a question."""
    return [p.text for turn in question_call.turns for p in turn.parts if isinstance(p, Reasoning)]


def test_the_branches_differ_in_the_reasoning_alone() -> None:
    """Kept is as received, dropped has none, blanked has an empty one; calls are the same."""
    played = branches(ANSWER, ANSWER, ANSWER, ANSWER)

    assert played.rounds[:2] == [("asked",), BRANCHES]
    _, guess, kept, dropped, blanked, *_ = [question.call for question in played.questions]
    assert [
        reasoning_texts(question_call) for question_call in (guess, kept, dropped, blanked)
    ] == [
        ["Hm."],
        ["Hm."],
        [],
        [""],
    ]
    for question_call in (guess, kept, dropped, blanked):
        assert [c.input for turn in question_call.turns for c in turn.calls] == [{"a": 1, "b": 2}]
        assert [r.call_id for turn in question_call.turns for r in turn.results] == ["c1"]


def test_the_next_user_turn_comes_with_and_without_the_reasoning() -> None:
    """Both carry the whole exchange and end in a new question."""
    played = branches(ANSWER, ANSWER, ANSWER, ANSWER)

    kept, dropped = (question.call for question in played.questions[-2:])
    assert (reasoning_texts(kept), reasoning_texts(dropped)) == (["Hm."], [])
    for question_call in (kept, dropped):
        assert question_call.turns[-1].role is Role.USER
        assert "hi 1" in str(question_call.turns[-1].parts)
        assert "amber-7" in str(question_call.turns)


@pytest.mark.parametrize(
    ("same", "later", "facts"),
    [
        ((ANSWER,) * 4, (NEXT, NEXT), ["taken"] * 6),
        (
            (ANSWER, ANSWER, MISSING, MISSING),
            (NEXT, NEXT),
            ["taken", "taken", "replay_missing", "replay_missing", "taken", "taken"],
        ),
        (
            (ANSWER, ANSWER, MISSING, ANSWER),
            (NEXT, MISSING),
            ["taken", "taken", "replay_missing", "taken", "taken", "replay_missing"],
        ),
    ],
)
def test_a_history_that_is_taken_by_the_rule_passes(
    same: tuple[ScriptedAnswer, ...], later: tuple[ScriptedAnswer, ScriptedAnswer], facts: list[str]
) -> None:
    """The results of the other branches are facts, and fail nothing."""
    played = branches(*same, later=later)

    names = ["guess", "kept", "dropped", "blanked", "next_kept", "next_dropped"]
    assert played.outcome == "pass"
    assert played.facts["replay"] == {"reasoned": True, **dict(zip(names, facts, strict=True))}
    assert played.trials["reasoning_replay_error"] == [True]
    assert played.trials["closure_error"] == [True]


@pytest.mark.parametrize(
    ("builder", "outcome", "kinds"),
    [(OPENAI, "pass", []), (OPENAI_MEASURED, "fail", ["replay_missing"])],
)
def test_a_guess_that_keeps_too_little_fails_only_if_it_was_measured(
    builder: QuestionBuilder, outcome: str, kinds: list[str]
) -> None:
    """The rule in force was not enough, all reasoning was, and both are recorded."""
    played = branches(MISSING, ANSWER, MISSING, MISSING, builder=builder)

    assert (played.outcome, played.kinds) == (outcome, kinds)
    assert played.trials["reasoning_replay_error"] == [outcome == "pass"]
    assert played.trials["closure_error"] == [True]
    facts = played.facts["replay"]
    assert isinstance(facts, dict)
    assert (facts["guess"], facts["kept"]) == ("replay_missing", "taken")


@pytest.mark.parametrize(
    "refused",
    [
        refusal(FindingKind.PARAM_UNKNOWN, "reasoning_content is not permitted"),
        # The branches differ only in the reasoning, whatever the refusal says.
        refusal(FindingKind.PROVIDER_ERROR, "Bad request"),
    ],
)
@pytest.mark.parametrize(("builder", "outcome"), [(DEEPSEEK, "pass"), (DEEPSEEK_MEASURED, "fail")])
def test_reasoning_that_is_refused_ends_before_the_next_turn(
    refused: Refused, builder: QuestionBuilder, outcome: str
) -> None:
    """If only the bare history is accepted, there is no next turn; a measured rule has failed."""
    played = branches(refused, refused, ANSWER, refused, later=None, builder=builder)

    kind = str(refused.kind)
    assert (played.outcome, played.kinds) == (outcome, [kind] if outcome == "fail" else [])
    assert played.trials["reasoning_replay_error"] == [outcome == "pass"]
    assert played.facts["replay"] == {
        "reasoned": True,
        "guess": kind,
        "kept": kind,
        "dropped": "taken",
        "blanked": kind,
    }


def test_a_history_that_is_refused_by_every_rule_fails() -> None:
    """An assumed rule is wrong only if another one is right."""
    played = branches(MISSING, MISSING, MISSING, MISSING, later=None, builder=OPENAI)

    assert (played.outcome, played.kinds) == ("fail", ["replay_missing"])
    assert played.trials["reasoning_replay_error"] == [False]


def test_trouble_in_every_branch_is_no_verdict_on_reasoning() -> None:
    """An unrelated refusal is void."""
    trouble = refusal(FindingKind.PROVIDER_ERROR, "Your account is inactive")

    played = branches(trouble, trouble, trouble, trouble, later=None)

    assert (played.outcome, played.kinds) == ("void", ["provider_error"])
    assert "reasoning_replay_error" not in played.trials


def test_a_model_that_does_not_reason_needs_no_branches() -> None:
    """There is nothing to replay, and that is recorded."""
    played = play(REASONING_REPLAY, DRAWN, calls(ADD))

    assert (played.outcome, played.facts["replay"]) == ("pass", {"reasoned": False})
    assert played.rounds == [("asked",)]


def test_without_a_call_nothing_is_said_about_replay() -> None:
    """Reasoning alone fails the turn and proves nothing about the history."""
    played = play(REASONING_REPLAY, DRAWN, Reply((thought(),), REASONED.stop))

    assert (played.outcome, played.kinds) == ("fail", ["reasoning_only"])
    assert "replay" not in played.facts


def test_signed_reasoning_is_never_blanked() -> None:
    """A signed block must not be changed."""
    block = Reasoning("Hm.", ReasoningKind.BLOCK, {"type": "thinking", "signature": "s"})

    played = play_by_question(
        REASONING_REPLAY,
        DRAWN,
        lambda question: calls(block, ADD) if question.label == "asked" else ANSWER,
        builder=PLAIN,
    )

    assert played.rounds[1] == BRANCHES[:3]


def test_a_signed_call_counts_as_reasoning_and_drops_its_signature() -> None:
    """Gemini signs the call itself; the branch without reasoning has no signature."""
    signed = replace(ADD, format="gemini", extra={"gemini": {"thoughtSignature": "s", "x": 1}})

    played = play_by_question(
        REASONING_REPLAY,
        DRAWN,
        lambda question: calls(signed) if question.label == "asked" else ANSWER,
        builder=GEMINI,
    )

    _, _, kept, dropped, *_ = [question.call for question in played.questions]
    extras = [
        [c.extra for turn in question_call.turns for c in turn.calls]
        for question_call in (kept, dropped)
    ]
    assert extras == [[signed.extra], [{"gemini": {"x": 1}}]]
    facts = played.facts["replay"]
    assert isinstance(facts, dict)
    assert facts["reasoned"] is True


def test_reasoning_between_tags_counts_and_is_dropped() -> None:
    """Some engines leave reasoning in the text; the branch without reasoning has none."""
    tagged = calls(Text("<think>Hm.</think>Well."), ADD)

    played = play_by_question(
        REASONING_REPLAY,
        DRAWN,
        lambda question: tagged if question.label == "asked" else ANSWER,
        builder=PLAIN,
    )

    _, _, kept, dropped, *_ = [question.call for question in played.questions]
    assert "<think>Hm." in str(kept.turns[1].parts)
    assert "Hm." not in str(dropped.turns[1].parts)
    assert "Well." in str(dropped.turns[1].parts)
    facts = played.facts["replay"]
    assert isinstance(facts, dict)
    assert facts["reasoned"] is True


def test_a_model_that_calls_again_does_not_leave_the_history_open() -> None:
    """A call instead of the answer is closed with a result, and the next user turn follows."""
    second_call = calls(thought(), call("probe_add", {"a": 1, "b": 2}, "c7"))

    played = play_by_question(
        REASONING_REPLAY,
        DRAWN,
        lambda question: REASONED if question.label == "asked" else second_call,
        builder=DEEPSEEK,
    )

    assert played.outcome == "pass"
    facts = played.facts["replay"]
    assert isinstance(facts, dict)
    assert (facts["kept"], facts["dropped"]) == ("taken", "taken")
    assert (facts["next_kept"], facts["next_dropped"]) == ("taken", "taken")
    last = played.questions[-1].call
    assert last.turns[-1].role is Role.USER
    assert {r.call_id for turn in last.turns for r in turn.results} == {"c1", "c7"}


NUMBERED = "functions.probe_add:0"


def test_bare_histories_are_sent_under_mapped_ids() -> None:
    """Their refusal must not be about ids that the vendor itself gave out."""
    anthropic = QuestionBuilder("m", DIALECTS[Provider.ANTHROPIC], "anthropic")
    numbered = calls(thought(), call("probe_add", {"a": 1, "b": 2}, NUMBERED))
    answers = [numbered, *[ANSWER] * 4, NEXT, NEXT]
    played = play(REASONING_REPLAY, DRAWN, *answers, builder=anthropic)

    labels = [question.label for question in played.questions[1:]]
    assert labels == [*BRANCHES, "reasoning: kept", "reasoning: dropped"]
    for question in played.questions[1:]:
        ids = {made.id for turn in question.call.turns for made in turn.calls}
        answered = {result.call_id for turn in question.call.turns for result in turn.results}
        assert ids == answered == {"functions_probe_add_0"}
