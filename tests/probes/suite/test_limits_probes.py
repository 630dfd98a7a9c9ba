from __future__ import annotations

from collections.abc import Mapping

import pytest

from probes.adapters import adapter_for
from probes.dialects import DIALECTS
from probes.messages import ModelCall, Role
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues, Question
from probes.suite.limits_probes import FOREIGN_IDS, FOREIGN_IDS_PROBE, PARAMETERS, TOOL_CHOICE
from probes.suite.question_builder import QuestionBuilder
from probes.target import Provider
from tests.probes.suite.script_player import (
    DEEPSEEK,
    OPENAI,
    Played,
    ScriptedAnswer,
    call,
    calls,
    play_by_question,
    prose,
    refusal,
    thought,
)

WORDS = DrawnValues({"message": "hi 1", "tag": "beta"})
NUMBERS = DrawnValues({"a": 1, "b": 2})
ECHO = calls(call("probe_echo", {"message": "hi 1", "tag": "beta"}))
ADD = calls(call("probe_add", {"a": 1, "b": 2}))
CHOICES: Mapping[str, ScriptedAnswer] = {
    "auto": ECHO,
    "none": prose(),
    "required": ECHO,
    "named": ADD,
}
LEAK = prose('<tool_call>{"name": "probe_add", "arguments": {"a": 1, "b": 2}}</tool_call>')
PROVIDER = refusal(FindingKind.PROVIDER_ERROR)


def play_choices(
    over: Mapping[str, ScriptedAnswer] | None = None, builder: QuestionBuilder = OPENAI
) -> Played:
    answers = {**CHOICES, **(over or {})}
    labelled = {f"tool_choice {name}": answer for name, answer in answers.items()}
    return play_by_question(
        TOOL_CHOICE, WORDS, lambda question: labelled[question.label], builder=builder
    )


def test_choices_that_are_obeyed_work() -> None:
    """Each value is sent where it makes a difference, and the model followed it."""
    played = play_choices()

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.facts["choices"] == dict.fromkeys(CHOICES, "works")
    choices = {name: played.call(f"tool_choice {name}").tool_choice for name in CHOICES}
    assert {name: choice.mode for name, choice in choices.items() if choice} == {
        name: name for name in CHOICES
    }
    assert choices["named"] is not None
    assert choices["named"].name == "probe_add"


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("auto", prose()),
        ("none", ECHO),
        ("none", LEAK),
        ("required", prose()),
        ("named", prose()),
        ("named", ECHO),
        ("named", calls(*ADD.parts, *ECHO.parts)),
    ],
)
def test_a_choice_that_is_taken_and_ignored_fails(name: str, answer: ScriptedAnswer) -> None:
    """No call under a forced choice and a call under "none" both fail."""
    played = play_choices({name: answer})

    assert (played.outcome, played.kinds) == ("fail", ["choice_ignored"])
    assert played.facts["choices"] == {**dict.fromkeys(CHOICES, "works"), name: "ignored"}


def test_a_choice_that_is_refused_is_told_and_does_not_fail() -> None:
    """A refusal is a usable answer."""
    played = play_choices({"required": refusal(FindingKind.FORCED_CHOICE)})

    assert played.outcome == "pass"
    assert played.facts["choices"] == {**dict.fromkeys(CHOICES, "works"), "required": "refused"}


def test_an_endpoint_that_refuses_every_choice_proves_nothing() -> None:
    """Then it does not refuse the choice itself."""
    played = play_choices(dict.fromkeys(CHOICES, PROVIDER))

    assert (played.outcome, played.kinds) == ("void", ["provider_error"])
    assert "choices" not in played.facts


def test_the_dialects_own_limits_are_not_taken_for_granted() -> None:
    """DeepSeek is documented to refuse forced calls while it thinks; they are sent anyway."""
    played = play_choices(builder=DEEPSEEK)

    assert played.rounds == [tuple(f"tool_choice {name}" for name in CHOICES)]
    assert all(question.call.tool_choice for question in played.questions)


def test_a_choice_that_the_format_cannot_carry_is_not_asked_for() -> None:
    """Ollama has no tool_choice, so it cannot be ignored."""
    adapter = adapter_for(Provider.OLLAMA)
    builder = QuestionBuilder("m", DIALECTS[Provider.OLLAMA], adapter.format)

    played = play_choices(builder=builder)

    sent_labels = {label for labels in played.rounds for label in labels}
    assert not sent_labels & {"tool_choice required", "tool_choice named"}
    assert played.outcome == "pass"


EXTRAS = ("strict", "developer", "unknown_parameter")


def play_parameters(**over: ScriptedAnswer) -> Played:
    labelled = {"plain": ECHO, **dict.fromkeys(EXTRAS, ECHO), **over}
    return play_by_question(PARAMETERS, WORDS, lambda question: labelled[question.label])


def test_each_extra_is_sent_beside_the_plain_question() -> None:
    """One thing is changed at a time."""
    played = play_parameters()
    plain = played.call("plain")

    assert played.rounds == [("plain", *EXTRAS)]
    assert all(tool.strict for tool in played.call("strict").tools)
    assert not any(tool.strict for tool in plain.tools)
    first = played.call("developer").turns[0]
    assert (first.role, first.extra) == (Role.SYSTEM, {"openai": {"role": "developer"}})
    assert "probe_unknown" in played.call("unknown_parameter").options
    assert "probe_unknown" not in plain.options


@pytest.mark.parametrize("name", EXTRAS)
def test_an_extra_that_is_refused_is_told_and_does_not_fail(name: str) -> None:
    """The accepted extras are only recorded."""
    played = play_parameters(**{name: refusal(FindingKind.PARAM_UNKNOWN, "tools: no")})

    assert played.outcome == "pass"
    assert played.facts["accepts"] == {extra: extra != name for extra in EXTRAS}


def test_a_plain_question_that_is_refused_or_fails_is_judged() -> None:
    """The extras mean nothing if the plain question does not work."""
    refused = play_parameters(plain=refusal(FindingKind.NO_TOOLS))
    talked = play_parameters(plain=prose())

    assert (refused.outcome, refused.trials) == ("fail", {"parse_success": [False]})
    assert "accepts" not in refused.facts
    assert (talked.outcome, talked.kinds) == ("fail", ["no_call"])


def play_ids(**over: ScriptedAnswer) -> Played:
    labelled = {f"ids: {name}": answer for name, answer in over.items()}
    return play_by_question(
        FOREIGN_IDS_PROBE, NUMBERS, lambda question: labelled.get(question.label, prose("3"))
    )


def ids_in(labels: ModelCall) -> set[str]:
    ids = {ids.id for turn in labels.turns for ids in turn.calls}
    assert ids == {result.call_id for turn in labels.turns for result in turn.results}
    return ids


def test_every_form_of_id_is_sent_as_it_is() -> None:
    """Each history is closed, with the id in another vendor's form."""
    played = play_ids()

    assert played.outcome == "pass"
    assert played.facts["ids"] == dict.fromkeys(FOREIGN_IDS, True)
    assert {name: ids_in(played.call(f"ids: {name}")) for name in FOREIGN_IDS} == {
        name: {id_} for name, id_ in FOREIGN_IDS.items()
    }


def test_a_form_that_is_refused_is_told_and_does_not_fail() -> None:
    """Only ids in the vendor's own form must be accepted."""
    played = play_ids(long=refusal(FindingKind.ID_FORMAT), kimi=refusal(FindingKind.ID_FORMAT))

    assert played.outcome == "pass"
    assert played.facts["ids"] == {name: name not in ("long", "kimi") for name in FOREIGN_IDS}


def test_ids_in_the_vendors_own_form_go_through_the_dialect() -> None:
    """Mistral accepts nine letters and digits; ours are mapped before they are sent."""
    adapter = adapter_for(Provider.MISTRAL)
    builder = QuestionBuilder("m", DIALECTS[Provider.MISTRAL], adapter.format)

    played = play_by_question(
        FOREIGN_IDS_PROBE, NUMBERS, lambda question: prose("3"), builder=builder
    )

    (mapped,) = ids_in(played.call("ids: mapped"))
    assert len(mapped) == 9
    assert mapped.isalnum()


def test_ids_in_the_vendors_own_form_that_are_refused_fail() -> None:
    """A refusal because of the id fails; other errors are no verdict."""
    refused = play_ids(mapped=refusal(FindingKind.ID_FORMAT))
    trouble = play_ids(mapped=PROVIDER)

    assert (refused.outcome, refused.kinds) == ("fail", ["id_format"])
    assert trouble.outcome == "void"


def test_an_endpoint_that_demands_reasoning_gets_its_own_turn_under_other_ids() -> None:
    """A made-up history has no reasoning; what is refused then is the id alone."""
    own = calls(thought(), call("probe_add", {"a": 1, "b": 2}, "own-1"))

    def answer(question: Question) -> ScriptedAnswer:
        if question.label == "own call":
            return own
        if "Hm." not in str(question.call.turns):
            return refusal(FindingKind.REPLAY_MISSING)
        return refusal(FindingKind.ID_FORMAT) if question.label == "ids: long" else prose("3")

    played = play_by_question(FOREIGN_IDS_PROBE, NUMBERS, answer)

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.facts["ids"] == {name: name != "long" for name in FOREIGN_IDS}
    assert len(played.questions) == FOREIGN_IDS_PROBE.requests
    assert ids_in(played.questions[-2].call) == {FOREIGN_IDS["punctuated"]}


def test_without_an_own_call_the_ids_stay_unknown() -> None:
    """Reasoning is never made up."""

    def answer(question: Question) -> ScriptedAnswer:
        is_own = question.label == "own call"
        return prose() if is_own else refusal(FindingKind.REPLAY_MISSING)

    played = play_by_question(FOREIGN_IDS_PROBE, NUMBERS, answer)

    assert played.facts["ids"] == dict.fromkeys(FOREIGN_IDS)
