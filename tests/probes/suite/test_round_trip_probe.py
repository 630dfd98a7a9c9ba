from __future__ import annotations

import json

import pytest

from probes.errors import Refused
from probes.messages import Part, Reply, Role, Stop, Text
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.question_builder import QuestionBuilder
from probes.suite.round_trip_probe import ROUND_TRIP
from tests.probes.suite.script_player import (
    DEEPSEEK,
    DEEPSEEK_MEASURED,
    OPENAI_MEASURED,
    ScriptedAnswer,
    call,
    calls,
    play,
    prose,
    refusal,
    thought,
)

DRAWN = DrawnValues({"message": "hi 1", "tag": "beta", "nonce": "amber-7"})
CALL = call("probe_echo", {"message": "hi 1", "tag": "beta"})
LEAK = (
    '<tool_call>{"name": "probe_echo", "arguments": {"message": "hi 1", "tag": "beta"}}</tool_call>'
)


def test_a_result_that_is_used_passes() -> None:
    """The nonce is only in the result, which is returned under the id of its call."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), prose("It is amber-7."))

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.rounds == [("asked",), ("with the result",)]
    assert played.trials["closure_error"] == [True]
    assert "reasoning_replay_error" not in played.trials
    assert "amber-7" not in str(played.call("asked").turns)
    *_, assistant, tool = played.call("with the result").turns
    (result,) = tool.results
    assert (assistant.calls[0].id, result.call_id) == ("c1", "c1")
    assert json.loads(result.content) == {"ok": True, "nonce": "amber-7"}


@pytest.mark.parametrize(
    "answers", [prose("Done."), Reply((thought("amber-7"),), Stop.END), Reply((), Stop.END)]
)
def test_an_answer_without_the_nonce_fails(answers: Reply) -> None:
    """Only visible text counts as an answer."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), answers, prose("Done."))

    assert (played.outcome, played.kinds) == ("fail", ["result_unused"])


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("amber-7", True),
        ("The nonce is **Amber 7**.", True),
        ("AMBER\u20117", True),
        ("amber", False),
        ("amber-8", False),
        ("7", False),
    ],
)
def test_an_answer_after_a_result_is_a_trial_of_its_use(text: str, good: bool) -> None:
    """However it is spelled; a part of it is not enough."""
    more = [] if good else [prose("amber-7")]
    played = play(ROUND_TRIP, DRAWN, calls(CALL), prose(text), *more)

    assert played.trials["result_use"] == [good]
    assert (played.outcome == "pass") == good


def test_a_result_of_a_call_that_does_not_fit_proves_nothing() -> None:
    """No client would have returned one."""
    unfit = call("probe_echo", {"message": "hi 1", "tag": "x"})
    played = play(ROUND_TRIP, DRAWN, calls(unfit), prose("Done."))

    assert "result_use" not in played.trials
    assert "result_role" not in played.facts
    assert "value_fidelity" not in played.trials


def test_the_nonce_is_asked_for_as_it_is() -> None:
    """A model that spells numbers in words does as it is told."""
    played = play(ROUND_TRIP, DRAWN, prose())
    (text,) = played.call("asked").turns[-1].parts

    assert isinstance(text, Text)
    assert "exactly as it is" in text.text
    assert "in words" not in text.text


def test_a_script_without_a_call_ends_there() -> None:
    """There is no call to return a result for."""
    played = play(ROUND_TRIP, DRAWN, prose())

    assert (played.outcome, played.kinds) == ("fail", ["no_call"])
    assert "closure_error" not in played.trials


@pytest.mark.parametrize(
    ("model_calls", "kind"),
    [
        (call("probe_echo", {"message": "hi", "tag": "beta"}), "wrong_value"),
        (call("probe_echo", {"message": "hi 1", "tag": "x"}), "schema_mismatch"),
    ],
)
def test_a_wrong_call_fails_and_the_round_trip_goes_on(model_calls: Text, kind: str) -> None:
    """Whether results are accepted is still tested."""
    played = play(ROUND_TRIP, DRAWN, calls(model_calls), prose("amber-7"))

    assert (played.outcome, played.kinds) == ("fail", [kind])
    assert played.trials["closure_error"] == [True]


def test_a_leaked_call_is_answered_as_a_call() -> None:
    """A text protocol can have its round trip; the leak stays a finding."""
    played = play(ROUND_TRIP, DRAWN, prose(LEAK), prose("amber-7"))

    assert played.kinds == ["leaked_call"]
    *_, assistant, tool = played.call("with the result").turns
    assert assistant.calls[0].id == tool.results[0].call_id
    assert LEAK not in str(assistant.parts)


@pytest.mark.parametrize(
    ("answers", "outcome", "trials"),
    [
        (refusal(FindingKind.CLOSURE_MISSING), "fail", [False]),
        (refusal(FindingKind.ID_FORMAT), "fail", [False]),
        (refusal(FindingKind.PROVIDER_ERROR), "void", None),
        (refusal(FindingKind.NO_TOOLS), "fail", None),
    ],
)
def test_a_refused_history_fails_where_it_is_refused_for_its_calls(
    answers: ScriptedAnswer, outcome: str, trials: list[bool] | None
) -> None:
    """Our history was valid; any other refusal says nothing about closure."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), answers, refusal(FindingKind.PROVIDER_ERROR))

    assert played.outcome == outcome
    assert played.trials.get("closure_error") == trials
    assert len(played.kinds) == 1


def test_a_refused_history_says_nothing_about_how_calls_arrive() -> None:
    """The call had arrived; a refusal of its result is no refusal of streams."""
    refused = refusal(FindingKind.CLOSURE_MISSING)
    for text_answer in (refused, prose("amber-7")):
        played = play(ROUND_TRIP, DRAWN, calls(CALL), refused, text_answer)

        assert played.facts["turns"] == {"whole": ["works"]}


UNUSED = prose("Done.")
ROLE = refusal(FindingKind.ROLE_REFUSED, "Unexpected role 'tool'.")


def test_a_result_that_is_used_is_not_sent_again_as_text() -> None:
    """A healthy endpoint pays nothing for the question."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), prose("amber-7"))

    assert played.facts["result_role"] == "tool"
    assert len(played.questions) == 2


@pytest.mark.parametrize(
    ("native", "text_answer", "role"),
    [
        (UNUSED, prose("It is amber 7."), "user_text"),
        (UNUSED, UNUSED, "none"),
        (UNUSED, calls(CALL), "none"),
        (ROLE, prose("amber-7"), "user_text"),
        (ROLE, UNUSED, "none"),
        (refusal(FindingKind.PROVIDER_ERROR), prose("amber-7"), "user_text"),
        (refusal(FindingKind.CLOSURE_MISSING), prose("amber-7"), "user_text"),
        (UNUSED, ROLE, None),
        (ROLE, refusal(FindingKind.PROVIDER_ERROR), None),
    ],
)
def test_a_result_that_fails_in_its_own_role_is_sent_as_text(
    native: ScriptedAnswer, text_answer: ScriptedAnswer, role: str | None
) -> None:
    """Its use there is a fact; the attempt fails whatever text can do, with one finding."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), native, text_answer)

    assert played.facts.get("result_role") == role
    assert played.outcome == "fail"
    assert len(played.kinds) == 1
    assert played.trials.get("result_use", [False]) == [False]


def test_a_result_as_text_has_neither_calls_nor_results() -> None:
    """The tools stay declared, and the texts say which call was made and what came back."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), ROLE, prose("amber-7"))

    native, text = (played.call(label) for label in ("with the result", "with the result as text"))
    assert text.tools == native.tools
    assert [turn.role for turn in text.turns] == [Role.USER, Role.ASSISTANT, Role.USER]
    assert not any(turn.calls or turn.results for turn in text.turns)
    question, call_text, result = ("".join(map(_text, turn.parts)) for turn in text.turns)
    assert question == "".join(map(_text, native.turns[0].parts))
    assert '"probe_echo"' in call_text
    assert "hi 1" in call_text
    assert "amber-7" in result


def test_a_refusal_for_reasoning_is_not_asked_again_as_text() -> None:
    """It says nothing about the role of results."""
    played = play(ROUND_TRIP, DRAWN, calls(CALL), refusal(FindingKind.REPLAY_ITEM), MISSING)

    assert "result_role" not in played.facts
    assert played.rounds[-1] != ("with the result as text",)


def _text(part: Part) -> str:
    assert isinstance(part, Text)
    return part.text


REASONED = calls(thought(), CALL)
MISSING = refusal(FindingKind.REPLAY_MISSING)
UNKNOWN = refusal(FindingKind.PARAM_UNKNOWN, "reasoning_content: not permitted")
TAKEN = prose("amber-7")


def test_an_endpoint_that_wants_its_reasoning_back_gets_it() -> None:
    """The refusal of an assumed rule teaches; the repeated question is the trial."""
    played = play(ROUND_TRIP, DRAWN, REASONED, MISSING, TAKEN)

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.trials["reasoning_replay_error"] == [True]
    assert played.trials["closure_error"] == [True]
    first, second = (played.call(label) for label in played.rounds[1] + played.rounds[2])
    assert "reasoning_content" not in str(first.turns)
    assert "reasoning_content" in str(second.turns)


def test_an_endpoint_that_refuses_its_reasoning_is_asked_without() -> None:
    """The same where less reasoning is wanted than the dialect assumes."""
    played = play(ROUND_TRIP, DRAWN, REASONED, UNKNOWN, TAKEN, builder=DEEPSEEK)

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.trials["reasoning_replay_error"] == [True]
    assert played.trials["closure_error"] == [True]
    assert thought() not in played.questions[-1].call.turns[1].parts


@pytest.mark.parametrize(
    ("refused", "builder"), [(MISSING, OPENAI_MEASURED), (UNKNOWN, DEEPSEEK_MEASURED)]
)
def test_a_refusal_under_a_measured_rule_is_a_failed_trial(
    refused: Refused, builder: QuestionBuilder
) -> None:
    """The endpoint took this before. The round trip still continues by the other rule."""
    played = play(ROUND_TRIP, DRAWN, REASONED, refused, TAKEN, builder=builder)

    assert (played.outcome, played.kinds) == ("fail", [str(refused.kind)])
    assert played.trials["reasoning_replay_error"] == [False]
    assert played.trials["closure_error"] == [True]


def test_a_refusal_of_the_repeated_question_is_a_failed_trial() -> None:
    """Neither the assumed rule nor the other one is taken."""
    played = play(ROUND_TRIP, DRAWN, REASONED, MISSING, MISSING)

    assert played.outcome == "fail"
    assert played.trials["reasoning_replay_error"] == [False]
    assert "closure_error" not in played.trials


def test_the_same_question_again_teaches_nothing() -> None:
    """All reasoning was in the first question, so its refusal is a failure of the endpoint."""
    played = play(ROUND_TRIP, DRAWN, REASONED, MISSING, TAKEN, builder=DEEPSEEK)

    assert (played.outcome, played.kinds) == ("fail", ["replay_missing"])
    assert played.trials["reasoning_replay_error"] == [False]


def test_reasoning_sent_back_by_the_rule_is_a_good_trial_of_replay() -> None:
    """A dialect that keeps reasoning sends it at once."""
    played = play(ROUND_TRIP, DRAWN, calls(thought(), CALL), prose("amber-7"), builder=DEEPSEEK)

    assert played.trials["reasoning_replay_error"] == [True]
    answers = [t for t in played.call("with the result").turns if t.role is Role.ASSISTANT]
    assert thought() in answers[0].parts
