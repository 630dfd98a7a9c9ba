from __future__ import annotations

import pytest

from probes.messages import BrokenCall, Deviation, Reply, Stop, Text
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
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
    return play_by_question(STREAMING, DRAWN, by_label({"whole": whole, "streamed": streamed}))


@pytest.mark.parametrize(
    "streamed",
    [
        BOTH,
        calls(SECOND, FIRST),
        calls(Text("Well."), FIRST, SECOND),
        calls(call("probe_echo", ECHO, "other"), SECOND),
    ],
)
def test_the_same_calls_streamed_and_whole_pass(streamed: Reply) -> None:
    """Ids, order and text beside the calls do not matter."""
    played = streaming(BOTH, streamed)

    assert (played.outcome, played.facts["streams"]) == ("pass", True)
    assert played.trials["stream_disagreement"] == [True]


def test_both_ways_are_asked_at_once_and_alike() -> None:
    """The two questions differ only in the stream flag."""
    played = streaming(BOTH, BOTH)

    assert played.rounds == [("whole", "streamed")]
    assert played.call("streamed").stream
    assert not played.call("whole").stream
    assert played.call("streamed").turns == played.call("whole").turns


@pytest.mark.parametrize(
    "streamed",
    [
        calls(FIRST),
        calls(FIRST, call("probe_add", {"a": 1, "b": 3}, "c2")),
        calls(call("probe_echo", {**ECHO, "message": "hi"}), SECOND),
        calls(FIRST, SECOND, call("probe_add", {"a": 1, "b": 2}, "c3")),
        Reply((FIRST, SECOND, BrokenCall("{", "bad")), Stop.TOOL_CALLS),
        Reply((BrokenCall("{", "bad"),), Stop.TOOL_CALLS),
        Reply((), Stop.TOOL_CALLS),
        Reply((), Stop.MALFORMED_CALL),
    ],
)
def test_a_stream_that_loses_or_changes_calls_fails(streamed: Reply) -> None:
    """Fewer, more, other or broken calls, or an end that claims missing calls."""
    played = streaming(BOTH, streamed)

    assert played.outcome == "fail"
    assert "stream_differs" in played.kinds
    assert played.facts["streams"] is False
    assert played.trials["stream_disagreement"] == [False]


@pytest.mark.parametrize(("whole", "streamed"), [(prose(), BOTH), (BOTH, prose())])
def test_without_calls_on_both_sides_nothing_is_compared(whole: Reply, streamed: Reply) -> None:
    """A single prose answer proves nothing about the stream."""
    played = streaming(whole, streamed)

    assert "stream_disagreement" not in played.trials
    assert "streams" not in played.facts


def test_what_the_stream_bends_is_told() -> None:
    """Deviations of both answers are facts of the attempt."""
    bent = Reply(BOTH.parts, Stop.TOOL_CALLS, deviations=(Deviation("no_index", "$"),))

    played = streaming(BOTH, bent)

    assert (played.outcome, played.facts["deviations"]) == ("pass", ["no_index"])


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
