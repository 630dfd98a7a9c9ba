from __future__ import annotations

import json

import pytest

from probes.messages import Reply, ToolCall
from probes.outcomes import FindingKind
from probes.suite.base import DrawnValues
from probes.suite.chain_probe import CHAIN
from tests.probes.suite.script_player import call, calls, play, prose, refusal, thought

DRAWN = DrawnValues({"item": "lamp 1", "shelf": "amber-1", "box": "cedar-2", "code": "delta-3"})
LOCATE = call("probe_locate", {"item": "lamp 1"}, "c1")
OPEN = call("probe_open", {"shelf": "amber-1"}, "c2")
READ = call("probe_read", {"box": "cedar-2"}, "c3")


def test_a_chain_in_which_every_call_uses_the_result_before_passes() -> None:
    """Each value is told by one result only, and no earlier."""
    played = play(CHAIN, DRAWN, calls(LOCATE), calls(OPEN), calls(READ), prose("It is delta-3."))

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.rounds == [
        ("asked",), ("with result 1",), ("with result 2",), ("with result 3",)
    ]  # fmt: skip
    told = ("amber-1", "cedar-2", "delta-3")
    for asked, value in zip(played.questions, told, strict=False):
        assert value not in str(asked.call.turns)
    results = [turn.results[0] for turn in played.questions[-1].call.turns if turn.results]
    assert [list(json.loads(result.content)) for result in results] == [
        ["ok", "shelf"], ["ok", "box"], ["ok", "code"]
    ]  # fmt: skip
    assert played.trials["closure_error"] == [True, True, True]
    assert played.trials["parse_success"] == [True, True, True]
    assert played.trials["result_use"] == [True, True, True]
    # Only the first value was asked for; the others say whether results are used.
    assert played.trials["value_fidelity"] == [True]


@pytest.mark.parametrize(
    ("answers", "kinds"),
    [
        ([calls(LOCATE), calls(call("probe_open", {"shelf": "unknown"}))], ["result_unused"]),
        ([calls(LOCATE), calls(OPEN), calls(call("probe_read", {"box": "x"}))], ["result_unused"]),
        ([calls(LOCATE), calls(OPEN), calls(READ), prose("Done.")], ["result_unused"]),
        ([calls(LOCATE), calls(OPEN), calls(READ), calls(READ)], ["result_unused"]),
        ([calls(LOCATE), prose()], ["no_call"]),
        ([calls(LOCATE), calls(OPEN), prose("It is delta-3.")], ["no_call"]),
        ([calls(LOCATE), calls(LOCATE)], ["no_call", "extra_call"]),
        ([prose()], ["no_call"]),
    ],
)
def test_a_chain_ends_where_a_result_is_not_used(answers: list[Reply], kinds: list[str]) -> None:
    """The calls after it could use nothing that was told."""
    played = play(CHAIN, DRAWN, *answers)

    assert (played.outcome, played.kinds) == ("fail", kinds)
    used = played.trials.get("result_use", [])
    assert used.count(False) == kinds.count("result_unused")


@pytest.mark.parametrize(
    ("first", "kinds"),
    [
        ([call("probe_locate", {"item": "lamp"}, "c1")], ["wrong_value"]),
        ([LOCATE, call("probe_open", {"shelf": "?"}, "c9")], ["extra_call"]),
        ([call("probe_locate", {"item": 1}, "c1")], ["schema_mismatch"]),
    ],
)
def test_a_wrong_first_call_fails_and_the_chain_goes_on(
    first: list[ToolCall], kinds: list[str]
) -> None:
    """A call that comes before its result is surplus; every call gets a result."""
    played = play(CHAIN, DRAWN, calls(*first), calls(OPEN), calls(READ), prose("delta-3"))

    assert (played.outcome, played.kinds) == ("fail", kinds)
    assert len(played.call("with result 1").turns[-1].results) == len(first)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [(FindingKind.CLOSURE_MISSING, "fail"), (FindingKind.PROVIDER_ERROR, "void")],
)
def test_a_refused_history_ends_the_chain(kind: FindingKind, outcome: str) -> None:
    """It fails if the pairing of calls and results is blamed."""
    played = play(CHAIN, DRAWN, calls(LOCATE), calls(OPEN), refusal(kind))

    assert (played.outcome, played.kinds) == (outcome, [str(kind)])


def test_a_chain_goes_on_with_all_reasoning_where_it_is_required() -> None:
    """The first refusal teaches the rule, later ones are findings; the chain goes to its end."""
    missing = refusal(FindingKind.REPLAY_MISSING)

    played = play(
        CHAIN, DRAWN,
        calls(thought(), LOCATE), missing, calls(thought(), OPEN), missing,
        calls(thought(), READ), missing, prose("delta-3"),
    )  # fmt: skip

    assert (played.outcome, played.kinds) == ("fail", ["replay_missing"] * 2)
    assert len(played.questions) == CHAIN.requests


def test_a_chain_needs_to_learn_the_rule_once() -> None:
    """Every later question has the reasoning, and nothing fails."""
    played = play(
        CHAIN, DRAWN,
        calls(thought(), LOCATE), refusal(FindingKind.REPLAY_MISSING),
        calls(thought(), OPEN), calls(thought(), READ), prose("delta-3"),
    )  # fmt: skip

    assert (played.outcome, played.kinds) == ("pass", [])
    assert played.trials["reasoning_replay_error"] == [True] * 3
