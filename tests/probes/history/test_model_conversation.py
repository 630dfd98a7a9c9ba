from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.dialects import NAMED, Dialect
from probes.dialects.anthropic import ANTHROPIC, ANTHROPIC_BOUND
from probes.dialects.deepseek import DEEPSEEK, DEEPSEEK_V32
from probes.dialects.gemini import GEMINI
from probes.dialects.kimi import KIMI, KIMI_K3
from probes.dialects.mistral import MISTRAL
from probes.dialects.openai import OPENAI_RESPONSES
from probes.dialects.plain import PLAIN
from probes.errors import HistoryError, WireError
from probes.findings import FindingKind
from probes.history.call_closure import check_closure
from probes.history.model_conversation import Conversation, SendOptions
from probes.history.request_changes import ChangeKind
from probes.history.trimming import TrimBudget
from probes.losses import LossKind
from probes.messages import (
    JSON,
    REQUIRED,
    BrokenCall,
    ModelCall,
    Part,
    Reasoning,
    Reply,
    Role,
    Stop,
    Text,
    ToolSpec,
    Turn,
)
from probes.resolve.call_ids import RULES
from tests.probes.history.strategies import any_turns
from tests.probes.history.turn_builders import block, call, result, thought

TOOL = ToolSpec("f", "Does f.", {"type": "object"})
QUESTION = ModelCall("m", (), (TOOL,))


def reply(*parts: Part) -> Reply:
    return Reply(parts, Stop.TOOL_CALLS)


def conversation_with(*parts: Part, origin: str = "") -> Conversation:
    """A question, an answer with these parts, and a result for its call."""
    conversation = Conversation()
    conversation.add_user("Do it.")
    conversation.add_reply(reply(*parts), origin)
    conversation.add_results([result()])
    return conversation


def test_a_conversation_keeps_an_answer_as_it_came() -> None:
    """One turn per answer, every part in order, with its origin."""
    parts = (thought(), Text("I will."), call(), Text("Then."), call("b"))
    conversation = Conversation()
    conversation.add_system("Be good.")
    conversation.add_user("Do it.")
    conversation.add_reply(reply(*parts), "deepseek/1")

    assert [turn.role for turn in conversation.turns] == [Role.SYSTEM, Role.USER, Role.ASSISTANT]
    assert conversation.turns[2] == Turn(Role.ASSISTANT, parts, "deepseek/1")
    assert [one.id for one in conversation.pending] == ["a", "b"]


def test_results_close_what_is_pending() -> None:
    """Broken calls need a result as well."""
    conversation = Conversation()
    conversation.add_reply(reply(call(), BrokenCall("{", "bad", name="f", id="b")))
    conversation.add_results([result()])

    assert [one.id for one in conversation.pending] == ["b"]


def test_an_open_conversation_is_not_sent() -> None:
    """The error names the place before any request is sent."""
    conversation = Conversation()
    conversation.add_user("Do it.")
    conversation.add_reply(reply(call()))

    with pytest.raises(HistoryError, match="'a' of 'f' has no result") as caught:
        conversation.to_call(QUESTION, SendOptions(PLAIN))

    assert [(one.kind, one.path) for one in caught.value.findings] == [
        (FindingKind.CLOSURE_MISSING, "$.turns[1].parts[0]")
    ]


def test_z37_a_conversation_whose_pairs_are_broken_is_not_sent() -> None:
    """A result under a rewritten id is an error before the vendor answers 2013."""
    conversation = Conversation()
    conversation.add_user("Do it.")
    conversation.add_reply(reply(call("call_function_x_1")))
    conversation.add_results([result("call_2")])

    with pytest.raises(HistoryError) as caught:
        conversation.to_call(QUESTION, SendOptions(PLAIN))

    assert [one.kind for one in caught.value.findings] == [
        FindingKind.CLOSURE_MISSING,
        FindingKind.CLOSURE_ORPHAN,
    ]


@pytest.mark.parametrize("name", sorted(NAMED))
def test_z37_an_id_is_never_rewritten_on_one_side_only(name: str) -> None:
    """Whatever form the vendor requires, the result has the id of its call."""
    conversation = conversation_with(call("call:1|x" + "y" * 90))
    conversation.turns[2] = Turn(Role.TOOL, (result("call:1|x" + "y" * 90),))

    turns = conversation.to_call(QUESTION, SendOptions(NAMED[name])).call.turns

    assert turns[2].results[0].call_id == turns[1].calls[0].id


def test_an_open_conversation_is_closed_where_that_is_asked_for() -> None:
    """For this question only, unless the conversation itself is repaired."""
    conversation = Conversation()
    conversation.add_user("Do it.")
    conversation.add_reply(reply(call()))

    prepared = conversation.to_call(QUESTION, SendOptions(PLAIN, repair=True))

    assert check_closure(prepared.call.turns) == []
    assert [change.kind for change in prepared.changes] == [ChangeKind.RESULT_SYNTHESISED]
    assert conversation.pending
    conversation.repair()
    assert not conversation.pending


def test_a_question_carries_everything_but_the_turns_from_the_caller() -> None:
    """It equals the caller's question if nothing has to change."""
    conversation = conversation_with(thought(), call())

    prepared = conversation.to_call(QUESTION, SendOptions(PLAIN))

    assert prepared.call == ModelCall("m", tuple(conversation.turns), (TOOL,))
    assert prepared.changes == ()
    assert prepared.losses == ()


def test_the_dialects_limits_reach_the_question() -> None:
    """A forced choice that would be refused is dropped and reported."""
    question = ModelCall("m", (), (TOOL,), tool_choice=REQUIRED)

    prepared = conversation_with(thought(), call()).to_call(question, SendOptions(DEEPSEEK))
    unforced = conversation_with(thought(), call()).to_call(
        question, SendOptions(DEEPSEEK, thinking=False)
    )

    assert prepared.call.tool_choice is None
    assert [change.kind for change in prepared.changes] == [ChangeKind.TOOL_CHOICE_DROPPED]
    assert unforced.call.tool_choice == REQUIRED


def test_z42_kimi_gets_ids_in_its_own_form_and_keeps_native_ones() -> None:
    """Ids of another form make it miscount and leak its markup."""
    conversation = conversation_with(call(), origin="openai")
    conversation.add_reply(reply(call("functions.f:7")), "kimi")
    conversation.add_results([result("functions.f:7")])

    turns = conversation.to_call(QUESTION, SendOptions(KIMI, "kimi")).call.turns

    assert turns[1].calls[0].id == "functions.f:0"
    assert turns[2].results[0].call_id == "functions.f:0"
    assert turns[3].calls[0].id == "functions.f:7"
    assert turns[4].results[0].call_id == "functions.f:7"
    assert conversation.turns[1].calls[0].id == "a"


def test_z42_calls_are_numbered_through_the_conversation() -> None:
    """Numbers that restart in a later turn make it miscount."""
    conversation = conversation_with(call("x"), call("y", "g"))
    conversation.turns[2] = Turn(Role.TOOL, (result("x"), result("y")))
    conversation.add_reply(reply(call("z")))
    conversation.add_results([result("z")])

    turns = conversation.to_call(QUESTION, SendOptions(KIMI)).call.turns

    ids = [one.id for turn in turns for one in turn.calls]
    assert ids == ["functions.f:0", "functions.g:1", "functions.f:2"]
    assert [one.call_id for turn in turns for one in turn.results] == ids


def test_z42_numbers_once_sent_stay_when_the_beginning_is_gone() -> None:
    """The endpoint has seen the id; a compacted history is not renumbered."""
    conversation = conversation_with(call())
    conversation.add_user("And now?")
    conversation.add_reply(reply(call("y")))
    conversation.add_results([result("y")])

    whole = conversation.to_call(QUESTION, SendOptions(KIMI)).call.turns
    conversation.turns = conversation.turns[3:]
    rest = conversation.to_call(QUESTION, SendOptions(KIMI)).call.turns

    assert rest[1].calls[0].id == whole[4].calls[0].id == "functions.f:1"


def test_z49_mistral_gets_ids_of_nine_alphanumerics() -> None:
    """The same each time, on the call and on its result."""
    conversation = conversation_with(call())

    prepared = conversation.to_call(QUESTION, SendOptions(MISTRAL))
    second = conversation.to_call(QUESTION, SendOptions(MISTRAL))

    wire = prepared.call.turns[1].calls[0].id
    assert RULES["mistral"].accepts(wire)
    assert prepared.call.turns[2].results[0].call_id == wire
    assert prepared == second
    assert [change.kind for change in prepared.changes] == [ChangeKind.IDS_MAPPED] * 2


def test_z44_reused_ids_go_out_under_ids_of_their_own() -> None:
    """The Responses API refuses a second output with the same call_id."""
    conversation = conversation_with(call())
    conversation.add_reply(reply(call()))
    conversation.add_results([result("a", "2")])

    turns = conversation.to_call(QUESTION, SendOptions(OPENAI_RESPONSES)).call.turns

    wire = [turn.calls[0].id for turn in turns if turn.calls]
    assert len(set(wire)) == 2
    assert [turn.results[0].call_id for turn in turns if turn.results] == wire


def test_z65_a_new_question_after_a_result_gets_its_bridge() -> None:
    """The bridge is only in the request; the conversation stays unchanged."""
    conversation = conversation_with(call())
    conversation.add_user("And now?")

    turns = conversation.to_call(QUESTION, SendOptions(MISTRAL)).call.turns

    assert [turn.role for turn in turns][-3:] == [Role.TOOL, Role.ASSISTANT, Role.USER]
    assert len(conversation.turns) == 4


def test_the_vendor_may_change_in_mid_conversation_and_back() -> None:
    """Foreign signatures are dropped; the first vendor still gets its own turns whole."""
    signed = block("Hm.", signature="S")
    conversation = conversation_with(signed, call("toolu_1"), origin="claude")
    conversation.turns[2] = Turn(Role.TOOL, (result("toolu_1"),))

    there = conversation.to_call(QUESTION, SendOptions(GEMINI, "gemini"))
    back = conversation.to_call(QUESTION, SendOptions(ANTHROPIC, "claude"))

    assert not any(isinstance(part, Reasoning) for part in there.call.turns[1].parts)
    assert [loss.kind for loss in there.losses] == [LossKind.SIGNATURE]
    assert [change.kind for change in there.changes] == [ChangeKind.SIGNATURE_SENTINEL]
    assert back.call.turns == tuple(conversation.turns)
    assert back.losses == ()


def test_z03_reasoning_that_was_never_received_is_not_made_up() -> None:
    """Thinking is turned off for this question, because then no reasoning is required."""
    conversation = conversation_with(call(), origin="openai")

    prepared = conversation.to_call(QUESTION, SendOptions(DEEPSEEK, "deepseek"))

    assert prepared.call.options == {"thinking": {"type": "disabled"}}
    assert prepared.call.turns == tuple(conversation.turns)
    assert [change.kind for change in prepared.changes] == [
        ChangeKind.THINKING_OFF,
        ChangeKind.OPTION_ADDED,
    ]


def test_z03_whoever_insists_on_thinking_is_told_what_will_be_refused() -> None:
    """The operator's own switch wins, as does a model that always thinks."""
    insisting = SendOptions(DEEPSEEK, thinking=True)
    question = ModelCall("m", (), (TOOL,), options={"thinking": {"type": "enabled"}})

    for prepared in (
        conversation_with(call()).to_call(QUESTION, insisting),
        conversation_with(call()).to_call(question, SendOptions(DEEPSEEK)),
        conversation_with(call()).to_call(QUESTION, SendOptions(KIMI_K3)),
    ):
        assert prepared.call.options.get("thinking") != {"type": "disabled"}
        assert [loss.path for loss in prepared.losses] == ["$.turns[1]"]


@pytest.mark.parametrize("dialect", [DEEPSEEK, KIMI, DEEPSEEK_V32])
def test_z05_empty_reasoning_is_reasoning(dialect: Dialect) -> None:
    """Empty reasoning is valid, and thinking stays on."""
    prepared = conversation_with(thought(""), call()).to_call(QUESTION, SendOptions(dialect))

    assert prepared.call.options == {}
    assert prepared.losses == ()


def test_reasoning_is_due_where_the_vendor_looks_for_it() -> None:
    """V4 checks every turn once tools are used, V3.2 checks calls since the last question."""
    conversation = conversation_with(thought(), call())
    conversation.add_reply(reply(Text("Done.")))
    conversation.add_user("And now?")

    assert conversation.to_call(QUESTION, SendOptions(DEEPSEEK)).call.options
    assert not conversation.to_call(QUESTION, SendOptions(DEEPSEEK_V32)).call.options
    assert not conversation.to_call(QUESTION, SendOptions(KIMI)).call.options


def test_z69_a_trimmed_conversation_loses_the_blocks_that_are_bound_to_it() -> None:
    """The rest is accepted without them, and refused with them."""
    conversation = conversation_with(call())
    conversation.add_user("And now?")
    conversation.add_reply(reply(block("Hm.", signature="S"), call("b")))
    conversation.add_results([result("b")])

    whole = conversation.to_call(QUESTION, SendOptions(ANTHROPIC_BOUND))
    trimmed = conversation.to_call(QUESTION, SendOptions(ANTHROPIC_BOUND, budget=TrimBudget(4)))

    assert whole.losses == ()
    assert trimmed.call.turns[1].parts == (call("b"),)
    assert [loss.kind for loss in trimmed.losses] == [LossKind.SIGNATURE]
    assert [change.kind for change in trimmed.changes] == [ChangeKind.TURNS_TRIMMED]


def test_z69_a_conversation_whose_tools_were_changed_loses_the_blocks_too() -> None:
    """The caller declares edits of system text or tools; later blocks are void."""
    conversation = conversation_with(block("Hm.", signature="S"), call())

    prepared = conversation.to_call(QUESTION, SendOptions(ANTHROPIC_BOUND))
    changed = conversation.to_call(QUESTION, SendOptions(ANTHROPIC_BOUND, prefix_changed=True))

    assert prepared.call.turns == tuple(conversation.turns)
    assert changed.call.turns[1].parts == (call(),)
    assert [loss.kind for loss in changed.losses] == [LossKind.SIGNATURE]


def test_a_budget_that_cannot_be_kept_is_reported() -> None:
    """The question can still be sent."""
    prepared = conversation_with(call()).to_call(QUESTION, SendOptions(PLAIN, budget=TrimBudget(1)))

    assert [change.kind for change in prepared.changes] == [ChangeKind.OVER_BUDGET]
    assert len(prepared.call.turns) == 3


def test_a_conversation_and_its_ids_come_back_from_storage() -> None:
    """Sent ids stay the same, because the endpoint has seen them."""
    conversation = conversation_with(thought(""), call())
    before = conversation.to_call(QUESTION, SendOptions(MISTRAL))

    stored: JSON = json.loads(json.dumps(conversation.as_json()))
    second = Conversation.from_json(stored)

    assert second == conversation
    assert second.to_call(QUESTION, SendOptions(MISTRAL)) == before


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"version": 2, "turns": [], "ids": {}},
        {"version": 1, "turns": [{"type": "text", "text": "a"}], "ids": {}},
        {"version": 1, "turns": [], "ids": {"mistral": []}},
    ],
)
def test_what_is_no_stored_conversation_is_refused(data: JSON) -> None:
    """No partial conversation is read."""
    with pytest.raises(WireError):
        Conversation.from_json(data)


@given(any_turns, st.sampled_from(sorted(NAMED)), st.integers(0, 8))
def test_any_history_can_be_sent_closed_to_any_vendor(
    turns: list[Turn], name: str, limit: int
) -> None:
    """The request is closed, and the conversation is unchanged."""
    conversation = Conversation(list(turns))

    sending = SendOptions(NAMED[name], "a", repair=True, budget=TrimBudget(limit))
    prepared = conversation.to_call(QUESTION, sending)

    assert check_closure(prepared.call.turns) == []
    assert conversation.turns == turns
    assert Conversation.from_json(conversation.as_json()) == conversation
