from __future__ import annotations

import random

import pytest

from probes.errors import StreamBroken
from probes.messages import NOT_STREAMED, BrokenCall, Deviation, Reply, Stop, Text
from probes.outcomes import FindingKind
from probes.suite.base import Answer, DrawnValues, Question
from probes.suite.streaming_probe import STREAMING
from tests.probes.suite.script_player import (
    Played,
    ScriptedAnswer,
    by_label,
    call,
    calls,
    play_by_question,
    prose,
    refusal,
)

ECHO = {"message": "hi ☕", "tag": "beta"}
DRAWN = DrawnValues({"echo": ECHO, "add": {"a": 1, "b": 2}})
FIRST = call("probe_echo", ECHO, "c1")
SECOND = call("probe_add", {"a": 1, "b": 2}, "c2")
BOTH = calls(FIRST, SECOND)


def streaming(whole: ScriptedAnswer, streamed: ScriptedAnswer) -> Played:
    """Each side gives the same answer whenever it is asked."""
    sides = {"whole": whole, "streamed": streamed}
    return play_by_question(STREAMING, DRAWN, lambda question: sides[question.label.split()[0]])


@pytest.mark.parametrize(
    "streamed",
    [BOTH, calls(Text("Well."), FIRST, SECOND), calls(call("probe_echo", ECHO, "other"), SECOND)],
)
def test_the_calls_asked_for_pass_streamed_and_whole(streamed: Reply) -> None:
    """Ids and text beside the calls do not matter."""
    played = streaming(BOTH, streamed)

    assert (played.outcome, played.facts["streams"]) == ("pass", True)
    assert played.trials["stream_disagreement"] == [True]
    assert played.facts["turns"] == {"whole": ["works"], "streamed": ["works"]}


def test_both_ways_are_asked_at_once_and_alike() -> None:
    """The two questions differ only in the stream flag."""
    played = streaming(BOTH, BOTH)

    assert played.rounds == [("whole", "streamed")]
    assert played.call("streamed").stream
    assert not played.call("whole").stream
    assert played.call("streamed").turns == played.call("whole").turns


LEAKED = Reply(
    (
        Text(
            "<tool_call>"
            '{"name": "probe_echo", "arguments": {"message": "hi ☕", "tag": "beta"}}'
            "</tool_call><tool_call>"
            '{"name": "probe_add", "arguments": {"a": 1, "b": 2}}'
            "</tool_call>"
        ),
    ),
    Stop.END,
)
UNSTREAMED = Reply(BOTH.parts, Stop.TOOL_CALLS, deviations=(Deviation(NOT_STREAMED, "$"),))


@pytest.mark.parametrize(
    ("streamed", "finding", "arrival"),
    [
        (LEAKED, "leaked_call", "hermes"),
        (prose(), "no_call", "loses_calls"),
        (UNSTREAMED, "not_streamed", "refused"),
        (calls(SECOND, FIRST), "wrong_order", "garbles"),
        (calls(FIRST), "no_call", "loses_calls"),
        (calls(FIRST, call("probe_add", {"a": 1, "b": 3}, "c2")), "wrong_value", "garbles"),
        (calls(call("probe_echo", {**ECHO, "message": "hi"}), SECOND), "wrong_value", "garbles"),
        (calls(FIRST, SECOND, call("probe_add", {"a": 1, "b": 2})), "extra_call", "garbles"),
        (
            Reply((FIRST, SECOND, BrokenCall("{", "bad")), Stop.TOOL_CALLS),
            "invalid_json",
            "garbles",
        ),
        (Reply((BrokenCall("{", "bad"),), Stop.TOOL_CALLS), "invalid_json", "garbles"),
        (Reply((), Stop.TOOL_CALLS), "no_call", "loses_calls"),
        (Reply((), Stop.MALFORMED_CALL), "no_call", "loses_calls"),
    ],
)
def test_a_stream_without_the_calls_asked_for_fails(
    streamed: Reply, finding: str, arrival: str
) -> None:
    """Only calls on the wire of the stream count: complete, in order, with their values."""
    played = streaming(BOTH, streamed)

    assert played.outcome == "fail"
    assert {finding, "stream_differs"} <= set(played.kinds)
    assert played.facts["streams"] is False
    assert played.facts["turns"] == {"whole": ["works"], "streamed": [arrival]}
    assert played.trials["stream_disagreement"] == [False]


def test_streamed_turns_count_in_the_metrics_of_whole_ones() -> None:
    """Each side is a trial of parsing and of leaks."""
    played = streaming(BOTH, LEAKED)

    assert played.trials["parse_success"] == [True, False]
    assert played.trials["leak"] == [True, False]


def test_a_right_stream_beside_a_wrong_whole_answer_differs_and_streams() -> None:
    """The two disagree, and the stream is what it should be."""
    played = streaming(prose(), BOTH)

    assert played.trials["stream_disagreement"] == [False]
    assert played.facts["streams"] is True


@pytest.mark.parametrize("reply", [LEAKED, calls(FIRST), calls(SECOND, FIRST)])
def test_a_stream_with_the_fault_of_the_whole_answer_is_not_at_fault(reply: Reply) -> None:
    """The endpoint fails both ways in the same way."""
    played = streaming(reply, reply)

    assert (played.outcome, played.facts["streams"]) == ("fail", True)
    assert played.trials["stream_disagreement"] == [True]


@pytest.mark.parametrize(
    ("whole", "streamed"), [(prose(), prose()), (calls(FIRST), prose()), (LEAKED, calls(FIRST))]
)
def test_where_both_sides_are_wrong_nothing_is_compared(whole: Reply, streamed: Reply) -> None:
    """Two different faults say nothing about streams."""
    played = streaming(whole, streamed)

    assert "stream_disagreement" not in played.trials
    assert "streams" not in played.facts


def broken_stream(whole: Reply) -> Played:
    broken = StreamBroken(200, "The stream broke off.")
    answers = {"whole": Answer(whole), "streamed": Answer(broken=broken)}
    return play_by_question(STREAMING, DRAWN, lambda question: answers[question.label])


def test_a_stream_that_breaks_off_does_not_stream() -> None:
    """The whole answer is right, so the stream is at fault."""
    played = broken_stream(BOTH)

    assert (played.outcome, played.kinds) == ("fail", ["broken_off"])
    assert played.facts["streams"] is False
    assert played.facts["turns"]["streamed"] == ["broken_off"]  # type: ignore[index,call-overload]
    assert played.trials["stream_disagreement"] == [False]


def test_a_stream_that_breaks_off_beside_a_wrong_answer_proves_nothing() -> None:
    """The attempt fails for the whole answer."""
    played = broken_stream(prose())

    assert (played.outcome, played.kinds) == ("fail", ["no_call", "broken_off"])
    assert "streams" not in played.facts


def test_what_the_stream_bends_is_told() -> None:
    """Deviations of both answers are facts of the attempt."""
    bent = Reply(BOTH.parts, Stop.TOOL_CALLS, deviations=(Deviation("no_index", "$"),))

    played = streaming(BOTH, bent)

    assert (played.outcome, played.facts["deviations"]) == ("pass", {"streamed": ["no_index"]})


@pytest.mark.parametrize(
    ("kind", "outcome", "trials"),
    [
        (FindingKind.NO_TOOLS, "fail", [False]),
        (FindingKind.PROVIDER_ERROR, "void", None),
    ],
)
def test_a_refused_stream_is_a_fact(
    kind: FindingKind, outcome: str, trials: list[bool] | None
) -> None:
    """Tools that work unstreamed and are refused in a stream do not stream."""
    played = streaming(BOTH, refusal(kind))

    assert (played.outcome, played.facts["streams"]) == (outcome, False)
    assert played.trials.get("stream_disagreement") == trials


def test_a_refused_whole_answer_leaves_nothing_to_compare() -> None:
    """The refusal is judged like that of any first question."""
    played = streaming(refusal(FindingKind.NO_TOOLS), BOTH)

    assert (played.outcome, played.kinds) == ("fail", ["no_tools"])
    assert "streams" not in played.facts


ODD = calls(call("probe_echo", {**ECHO, "extra": 1}, "c1"), SECOND)


def test_a_wrong_value_that_does_not_come_again_is_chance() -> None:
    """The attempt fails for the value, and the sides do not differ."""
    answers = {"whole": BOTH, "streamed": ODD, "streamed again 1": ODD, "streamed again 2": BOTH}
    answers |= {"whole again 1": BOTH, "whole again 2": BOTH}
    played = play_by_question(STREAMING, DRAWN, by_label(answers))

    assert (played.outcome, played.kinds) == ("fail", ["schema_mismatch"])
    assert (played.trials["stream_disagreement"], "streams" in played.facts) == ([True], False)
    assert played.facts["turns"] == {"whole": ["works"], "streamed": ["garbles"]}
    assert played.trials["schema_failure"] == [True, True, False, True]


def test_a_wrong_value_of_the_whole_answer_is_asked_for_again_too() -> None:
    """Either side can err by chance."""
    answers = {"whole": ODD, "streamed": BOTH, "whole again 1": BOTH, "streamed again 1": BOTH}
    played = play_by_question(STREAMING, DRAWN, by_label(answers))

    assert played.trials["stream_disagreement"] == [True]
    assert not played.call("whole again 1").stream


@pytest.mark.parametrize("streamed", [LEAKED, prose(), Reply((BrokenCall("{", "bad"),), Stop.END)])
def test_a_stream_without_a_readable_call_differs_if_that_comes_again(streamed: Reply) -> None:
    """A model that leaks at times leaks both ways; a stream that always leaks differs."""
    again = {"streamed again 1": streamed, "streamed again 2": BOTH}
    again |= {"whole again 1": BOTH, "whole again 2": BOTH}
    chance = play_by_question(
        STREAMING, DRAWN, by_label({"whole": BOTH, "streamed": streamed, **again})
    )

    assert streaming(BOTH, streamed).trials["stream_disagreement"] == [False]
    assert chance.trials["stream_disagreement"] == [True]
    assert chance.trials["parse_success"] == [True, False]


def test_a_whole_answer_that_errs_too_is_no_difference() -> None:
    """The stream is wrong again, and so is the whole answer: the model errs both ways."""
    answers = {"whole": BOTH, "streamed": ODD, "streamed again 1": ODD, "whole again 1": ODD}
    played = play_by_question(STREAMING, DRAWN, by_label(answers))

    assert played.trials["stream_disagreement"] == [True]


@pytest.mark.parametrize(("odd", "leaked"), [(0.2, 0), (0, 0.3), (0, 0.6)])
def test_models_that_err_at_random_both_ways_hardly_differ(odd: float, leaked: float) -> None:
    """One argument too many in 20 % of the calls, or a leak in many turns, both ways."""
    rng = random.Random(18)

    def answer(question: Question) -> Reply:
        if rng.random() < leaked:
            return LEAKED
        return calls(
            *(
                call(c.name, {**c.input, "extra": 1} if rng.random() < odd else c.input, c.id)
                for c in (FIRST, SECOND)
            )
        )

    trials = [
        play_by_question(STREAMING, DRAWN, answer).trials.get("stream_disagreement", [])
        for _ in range(400)
    ]
    judged = [good for verdicts in trials for good in verdicts]
    assert judged.count(False) / len(judged) < 0.08
