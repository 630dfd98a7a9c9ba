from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given

from probes.history.call_closure import check_closure, repair_closure
from probes.history.request_changes import ChangeKind
from probes.messages import (
    Breakage,
    BrokenCall,
    Reasoning,
    ReasoningKind,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Turn,
)
from tests.probes.history.strategies import any_turns, closed_turns
from tests.probes.history.turn_builders import ASK, NEXT, answer, call, result, tool


def kinds(turns: list[Turn]) -> list[tuple[str, str]]:
    return [(str(finding.kind), finding.path) for finding in check_closure(turns)]


def change_kinds(turns: list[Turn]) -> list[ChangeKind]:
    return [change.kind for change in repair_closure(turns).changes]


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [ASK],
        [ASK, answer(Text("Done."))],
        [ASK, answer(call("a"), call("b")), tool(result("b"), result("a")), NEXT],
        [ASK, answer(call("a"), call("b")), tool(result("a")), tool(result("b"))],
        [ASK, answer(call("a")), Turn(Role.USER, (result("a"), Text("And?")))],
    ],
)
def test_a_history_in_order_has_no_findings_and_is_left_alone(turns: list[Turn]) -> None:
    """Results may come in any order, in one turn or several, before a user's text."""
    assert check_closure(turns) == []
    assert repair_closure(turns) == repair_closure(repair_closure(turns).turns)
    assert repair_closure(turns).turns == tuple(turns)
    assert repair_closure(turns).changes == ()


def test_z52_a_call_without_a_result_is_found_and_gets_an_error_result() -> None:
    """An interrupted tool leaves a call open, for which every vendor refuses the request."""
    turns = [ASK, answer(call("a"), call("b")), tool(result("a")), NEXT]

    repaired = repair_closure(turns)

    assert kinds(turns) == [("closure_missing", "$.turns[1].parts[1]")]
    assert "'b'" in check_closure(turns)[0].message
    synthesised = repaired.turns[2].results[1]
    assert (synthesised.call_id, synthesised.is_error, synthesised.name) == ("b", True, "f")
    error = json.loads(synthesised.content)
    assert error["is_error"] is True
    assert error["error_code"] == "interrupted"
    assert "interrupted" in error["message"]
    assert repaired.turns[3] == NEXT
    assert [change.kind for change in repaired.changes] == [ChangeKind.RESULT_SYNTHESISED]


def test_z10_as_many_results_as_calls_go_back() -> None:
    """Gemini counts: a cancelled parallel call still needs its part."""
    turns = [ASK, answer(call("a"), call("b"), call("c")), NEXT]

    repaired = repair_closure(turns).turns

    assert [one.call_id for one in repaired[2].results] == ["a", "b", "c"]
    assert repaired[2].role is Role.TOOL


def test_z53_a_result_whose_call_was_trimmed_away_is_dropped() -> None:
    """A turn with nothing else is dropped with it."""
    turns = [tool(result("a")), ASK, answer(Text("Done."))]

    assert kinds(turns) == [("closure_orphan", "$.turns[0].parts[0]")]
    assert repair_closure(turns).turns == (ASK, turns[2])
    assert change_kinds(turns) == [ChangeKind.ORPHAN_DROPPED]


def test_z37_a_result_under_a_rewritten_id_is_found_before_sending() -> None:
    """MiniMax would refuse it with 2013; both sides of the break are located."""
    turns = [ASK, answer(call("call_function_x_1")), tool(result("call_2"))]

    assert kinds(turns) == [
        ("closure_missing", "$.turns[1].parts[0]"),
        ("closure_orphan", "$.turns[2].parts[0]"),
    ]


def test_a_late_result_is_moved_behind_its_call() -> None:
    """A result after the next user turn belongs to the older turn."""
    turns = [ASK, answer(call("a")), NEXT, tool(result("a")), answer(Text("So."))]

    assert kinds(turns) == [("closure_order", "$.turns[3].parts[0]")]
    assert repair_closure(turns).turns == (ASK, turns[1], tool(result("a")), NEXT, turns[4])
    assert change_kinds(turns) == [ChangeKind.RESULT_MOVED]


def test_a_result_behind_the_users_text_is_moved_before_it() -> None:
    """Anthropic requires results before any text of the same message."""
    turns = [ASK, answer(call("a")), Turn(Role.USER, (Text("And?"), result("a")))]

    assert kinds(turns) == [("closure_order", "$.turns[2].parts[1]")]
    assert repair_closure(turns).turns[2:] == (tool(result("a")), Turn(Role.USER, (Text("And?"),)))


def test_a_result_before_its_call_is_moved_where_the_id_is_unique() -> None:
    """Two swapped messages are put in order."""
    turns = [ASK, tool(result("a")), answer(call("a"))]

    assert kinds(turns) == [("closure_order", "$.turns[1].parts[0]")]
    assert repair_closure(turns).turns == (ASK, answer(call("a")), tool(result("a")))


def test_a_result_before_calls_that_share_its_id_answers_none_of_them() -> None:
    """A remainder of a trimmed round must not become the result of another call."""
    turns = [
        tool(result("c0", "old")),
        ASK,
        answer(call("c0")),
        tool(result("c0")),
        answer(call("c0")),
    ]

    repaired = repair_closure(turns).turns

    assert next(one.content for turn in repaired for one in turn.results) == "ok"
    assert ("closure_orphan", "$.turns[0].parts[0]") in kinds(turns)


def test_a_second_result_is_a_duplicate_and_the_first_one_stays() -> None:
    """Anthropic and the Responses API refuse two results for one call."""
    turns = [ASK, answer(call("a")), tool(result("a", "1"), result("a", "2"))]

    assert kinds(turns) == [("closure_duplicate", "$.turns[2].parts[1]")]
    assert repair_closure(turns).turns[2] == tool(result("a", "1"))
    assert change_kinds(turns) == [ChangeKind.DUPLICATE_DROPPED]


def test_z43_reused_ids_pair_by_position() -> None:
    """Some vendors number calls anew in every round, others give every call the same id."""
    per_round = [
        ASK,
        answer(call("c0")),
        tool(result("c0")),
        answer(call("c0")),
        tool(result("c0")),
    ]
    constant = [ASK, answer(call("x"), call("x")), tool(result("x", "1"), result("x", "2")), NEXT]

    assert check_closure(per_round) == []
    assert check_closure(constant) == []


def test_z43_a_missing_result_among_equal_ids_is_the_last_one() -> None:
    """The existing results keep their order against the calls."""
    turns = [ASK, answer(call("x", "f"), call("x", "g")), tool(result("x", "1"))]

    repaired = repair_closure(turns).turns[2].results

    assert kinds(turns) == [("closure_missing", "$.turns[1].parts[1]")]
    assert repaired[0].content == "1"
    assert repaired[1].name == "g"


def test_z43_late_results_of_equal_ids_keep_their_order() -> None:
    """The first late result belongs to the first call."""
    turns = [ASK, answer(call("x"), call("x")), NEXT, tool(result("x", "1"), result("x", "2"))]

    assert repair_closure(turns).turns[2] == tool(result("x", "1"), result("x", "2"))


def test_z68_split_results_are_one_closed_block() -> None:
    """OpenAI has one message per result; adapters that need one message join them."""
    turns = [ASK, answer(call("a"), call("b")), tool(result("a")), tool(result("b")), NEXT]

    assert check_closure(turns) == []
    assert repair_closure(turns).turns == tuple(turns)


def test_z38_a_call_that_could_not_be_read_goes_back_as_an_object_with_its_error() -> None:
    """MiniMax refuses a history whose arguments are not JSON."""
    broken = BrokenCall('{"a": ', "Not valid JSON.", Breakage.INVALID_JSON, "f", "a", "$.a")
    turns = [ASK, answer(Text("Hm."), broken), NEXT]

    repaired = repair_closure(turns)

    repaired_call = repaired.turns[1].calls[0]
    assert kinds(turns) == [("invalid_json", "$.turns[1].parts[1]")]
    assert (repaired_call.id, repaired_call.name, repaired_call.input, repaired_call.raw) == (
        "a",
        "f",
        {},
        "{}",
    )
    assert repaired_call.repairs == ("broken_in_history",)
    error_result = repaired.turns[2].results[0]
    assert error_result.is_error
    assert json.loads(error_result.content) == broken.as_error()
    assert [change.kind for change in repaired.changes] == [
        ChangeKind.BROKEN_CALL_CLOSED,
        ChangeKind.RESULT_SYNTHESISED,
    ]


def test_a_broken_call_that_has_its_answer_keeps_it() -> None:
    """The caller's own result is not replaced."""
    broken = BrokenCall("{", "bad", name="f", id="a")
    turns = [ASK, answer(broken), tool(result("a", "try again"))]

    assert repair_closure(turns).turns[2] == tool(result("a", "try again"))


def test_a_broken_call_without_a_name_goes_back_as_text() -> None:
    """No format can carry a call without a name."""
    turns = [ASK, answer(BrokenCall("<tool_call>", "never closed")), NEXT]

    assert repair_closure(turns).turns[1] == answer(Text("<tool_call>"))
    assert change_kinds(turns) == [ChangeKind.BROKEN_CALL_AS_TEXT]


def test_text_and_calls_that_were_stored_apart_become_one_turn() -> None:
    """One assistant message per model turn, its parts in order."""
    thought = Reasoning("t", ReasoningKind.FIELD, "reasoning_content")
    apart = [ASK, answer(thought, Text("I will.")), answer(call("a")), answer(call("b"))]

    repaired = repair_closure([*apart, tool(result("a")), tool(result("b"))])

    assert repaired.turns[1] == answer(thought, Text("I will."), call("a"), call("b"))
    assert check_closure(repaired.turns) == []
    assert [change.kind for change in repaired.changes] == [ChangeKind.MERGED_TURNS]


def test_an_orphan_between_two_halves_of_an_answer_does_not_keep_them_apart() -> None:
    """Without the orphan they are adjacent and become one turn."""
    turns = [ASK, answer(Text("I")), tool(result("x")), answer(Text("will.")), answer(call())]

    repaired = repair_closure([*turns, tool(result())])

    assert repaired.turns == (ASK, answer(Text("I"), Text("will."), call()), tool(result()))


def test_a_message_without_content_still_stands_between_a_call_and_its_result() -> None:
    """An empty user turn is a message on the wire."""
    turns = [ASK, answer(call()), Turn(Role.USER, ()), tool(result())]

    assert kinds(turns) == [("closure_order", "$.turns[3].parts[0]")]
    assert check_closure([ASK, answer(call()), Turn(Role.TOOL, ()), tool(result())]) == []


def test_a_second_result_is_not_given_to_an_older_call_of_the_same_id() -> None:
    """A block's own ids come first: the older call was interrupted and stays so."""
    turns = [ASK, answer(call("x")), NEXT, answer(call("x")), tool(result("x"), result("x", "2"))]

    assert kinds(turns) == [
        ("closure_missing", "$.turns[1].parts[0]"),
        ("closure_duplicate", "$.turns[4].parts[1]"),
    ]


def test_texts_without_calls_and_other_origins_stay_apart() -> None:
    """Only the parts of one model's answer are joined."""
    texts = [ASK, answer(Text("a")), answer(Text("b"))]
    foreign = [
        ASK,
        Turn(Role.ASSISTANT, (Text("a"),), "x"),
        Turn(Role.ASSISTANT, (call("c"),), "y"),
        tool(result("c")),
    ]

    assert repair_closure(texts).turns == tuple(texts)
    assert repair_closure(foreign).turns == tuple(foreign)


def test_turns_whose_extras_disagree_are_not_joined() -> None:
    """Joining would lose one of the two."""
    first = Turn(Role.ASSISTANT, (Text("a"),), extra={"openai": {"id": 1}})
    second = Turn(Role.ASSISTANT, (call("c"),), extra={"openai": {"id": 2}})
    third = Turn(Role.ASSISTANT, (call("d"),), extra={"openai": {"name": "n"}, "gemini": {}})

    apart = repair_closure([first, second, tool(result("c"))]).turns
    joined = repair_closure([first, third, tool(result("d"))]).turns

    assert apart[:2] == (first, second)
    assert joined[0].extra == {"openai": {"id": 1, "name": "n"}, "gemini": {}}


def test_z72_a_call_kept_twice_is_seen_as_two_calls() -> None:
    """Blocks and tool_calls of one message must be merged before this check."""
    turns = [ASK, answer(call("a"), call("a")), tool(result("a"))]

    assert kinds(turns) == [("closure_missing", "$.turns[1].parts[1]")]


@given(any_turns)
def test_a_repaired_history_is_closed(turns: list[Turn]) -> None:
    """Whatever the disorder was."""
    assert check_closure(repair_closure(turns).turns) == []


@given(any_turns)
def test_repairing_again_changes_nothing(turns: list[Turn]) -> None:
    """Repair is idempotent."""
    once = repair_closure(turns)

    twice = repair_closure(once.turns)

    assert twice.turns == once.turns
    assert twice.changes == ()


@given(any_turns)
def test_a_repair_without_findings_changes_nothing_but_joins(turns: list[Turn]) -> None:
    """Valid turns are returned unchanged; every change is named."""
    repaired = repair_closure(turns)

    if not check_closure(turns):
        assert {change.kind for change in repaired.changes} <= {ChangeKind.MERGED_TURNS}
    if not repaired.changes:
        assert repaired.turns == tuple(turns)


@given(any_turns)
def test_repair_keeps_every_text_reasoning_and_call(turns: list[Turn]) -> None:
    """Only results are added or removed; all else keeps its order."""

    def spoken(turns: list[Turn] | tuple[Turn, ...]) -> list[object]:
        return [
            part
            for turn in turns
            for part in turn.parts
            if not isinstance(part, ToolResult | BrokenCall | ToolCall)
        ]

    repaired = repair_closure(turns).turns
    unbroken = [part for part in spoken(repaired) if part != Text("{")]

    assert unbroken == spoken(turns)
    calls = Counter(call.id for turn in turns for call in turn.calls)
    assert calls <= Counter(call.id for turn in repaired for call in turn.calls)


@given(closed_turns())
def test_well_kept_histories_have_no_findings(turns: list[Turn]) -> None:
    """Reused and empty ids included."""
    assert check_closure(turns) == []


def test_many_results_of_one_id_are_paired_in_one_pass() -> None:
    """A hundred thousand calls with one id are paired in linear time."""
    calls = [call("x") for _ in range(50_000)]
    turns = [ASK, answer(*calls), NEXT, tool(*(result("x", str(n)) for n in range(50_000)))]

    repaired = repair_closure(turns).turns

    assert [one.content for one in repaired[2].results][:2] == ["0", "1"]
    assert len(repaired[2].results) == 50_000
