from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.dialects import NAMED, Dialect, ReplayRule, override_dialect
from probes.dialects.anthropic import ANTHROPIC, ANTHROPIC_BOUND
from probes.dialects.deepseek import DEEPSEEK, DEEPSEEK_ANTHROPIC, DEEPSEEK_V32
from probes.dialects.gemini import GEMINI
from probes.dialects.glm import GLM
from probes.dialects.kimi import KIMI
from probes.dialects.minimax import MINIMAX
from probes.dialects.mistral import MISTRAL
from probes.dialects.ollama import OLLAMA
from probes.dialects.openai import OPENAI, OPENAI_RESPONSES
from probes.dialects.qwen import QWEN_PRESERVED
from probes.history.call_closure import IN_HISTORY
from probes.history.reasoning_replay import Receiver, replay_reasoning
from probes.history.request_changes import ChangeKind
from probes.losses import LossKind
from probes.messages import JSON, Reasoning, ReasoningKind, Role, Text, ToolCall, Turn
from tests.probes.history.strategies import any_turns
from tests.probes.history.turn_builders import (
    ASK,
    NEXT,
    answer,
    block,
    call,
    item,
    result,
    thought,
    tool,
)

SENTINEL = "skip_thought_signature_validator"


def replayed_turns(
    turns: list[Turn], dialect: Dialect, origin: str = "", **more: bool
) -> tuple[Turn, ...]:
    return replay_reasoning(turns, Receiver(dialect, origin, **more)).turns


def loss_kinds(
    turns: list[Turn], dialect: Dialect, origin: str = "", **more: bool
) -> list[LossKind]:
    return [loss.kind for loss in replay_reasoning(turns, Receiver(dialect, origin, **more)).losses]


def reasonings(turns: tuple[Turn, ...]) -> list[list[str]]:
    return [
        [part.text for part in turn.parts if isinstance(part, Reasoning)]
        for turn in turns
        if turn.role == "assistant"
    ]


TWO_QUESTIONS = [
    ASK,
    answer(thought("one"), call()),
    tool(result()),
    answer(thought("two"), Text("Done.")),
    NEXT,
    answer(thought("three"), call()),
    tool(result()),
]


def test_z01_reasoning_of_the_current_turn_goes_back_verbatim() -> None:
    """V3.2 refuses a tool step without its reasoning_content; older turns need none."""
    assert reasonings(replayed_turns(TWO_QUESTIONS, DEEPSEEK_V32)) == [[], [], ["three"]]
    assert loss_kinds(TWO_QUESTIONS, DEEPSEEK_V32) == [LossKind.REASONING] * 2


def test_z01_results_under_the_users_role_do_not_end_the_turn() -> None:
    """Some formats carry results as a user message, which is no new question."""
    result_turn = Turn(Role.USER, (result(),))
    turns = [ASK, answer(thought("one"), call()), result_turn, answer(call("b")), tool(result("b"))]

    assert replayed_turns(turns, DEEPSEEK_V32) == tuple(turns)


def test_z02_once_tools_are_in_play_reasoning_of_all_turns_goes_back() -> None:
    """V4 refuses every later request otherwise, across user turns and on text-only turns."""
    assert replayed_turns(TWO_QUESTIONS, DEEPSEEK) == tuple(TWO_QUESTIONS)
    assert loss_kinds(TWO_QUESTIONS, DEEPSEEK) == []


def test_z02_a_request_that_offers_tools_counts_as_tools_in_play() -> None:
    """Without tools in request or history, only the current turn's reasoning is replayed."""
    talk = [ASK, answer(thought("one"), Text("Yes.")), NEXT]

    assert reasonings(replayed_turns(talk, DEEPSEEK, has_tools=True)) == [["one"]]
    assert reasonings(replayed_turns(talk, DEEPSEEK)) == [[]]


@given(any_turns, st.sampled_from(sorted(NAMED)), st.sampled_from(["", "a", "b"]), st.booleans())
def test_z03_no_reasoning_is_ever_made_up(
    turns: list[Turn], name: str, origin: str, has_tools: bool
) -> None:
    """Fillers are refused: every replayed text was received, in its order."""
    replayed = replayed_turns(turns, NAMED[name], origin, has_tools=has_tools)

    for before, after in zip(turns, replayed, strict=True):
        received = [part.text for part in before.parts if isinstance(part, Reasoning)]
        for part in after.parts:
            if isinstance(part, Reasoning):
                assert part.text in received
                received = received[received.index(part.text) + 1 :]


@pytest.mark.parametrize("name", sorted(NAMED))
def test_z03_a_call_that_came_without_reasoning_goes_back_without(name: str) -> None:
    """No vendor gets a filler, whatever it requires."""
    turns = [ASK, answer(call()), tool(result())]

    assert reasonings(replayed_turns(turns, NAMED[name], has_tools=True)) == [[]]


@given(any_turns, st.sampled_from(sorted(NAMED)), st.sampled_from(["", "a", "b"]))
def test_everything_but_reasoning_and_signatures_stays(
    turns: list[Turn], name: str, origin: str
) -> None:
    """Replay changes only reasoning, not texts, calls or results."""

    def rest(turns: list[Turn] | tuple[Turn, ...]) -> list[object]:
        others = [part for turn in turns for part in turn.parts if not isinstance(part, Reasoning)]
        return [part.id if isinstance(part, ToolCall) else part for part in others]

    assert rest(replayed_turns(turns, NAMED[name], origin)) == rest(turns)


@given(any_turns, st.sampled_from(sorted(NAMED)), st.sampled_from(["", "a", "b"]))
def test_reasoning_that_does_not_go_back_as_it_was_is_reported(
    turns: list[Turn], name: str, origin: str
) -> None:
    """Every difference is a loss or a change."""
    replayed = replay_reasoning(turns, Receiver(NAMED[name], origin))

    if not replayed.losses and not replayed.changes:
        assert replayed.turns == tuple(turns)
    dropped = sum(len(turn.parts) for turn in turns) - sum(len(t.parts) for t in replayed.turns)
    assert dropped <= len(replayed.losses)


@pytest.mark.parametrize("value", ["", " ", "Hm."])
def test_z04_what_was_received_is_not_exchanged_for_what_might_pass(value: str) -> None:
    """No blank value is replaced by another; a probe finds out which one is accepted."""
    turns = [ASK, answer(thought(value), call()), tool(result())]

    assert replayed_turns(turns, DEEPSEEK) == tuple(turns)


def test_z05_empty_reasoning_is_sent_and_absent_reasoning_is_not() -> None:
    """Empty reasoning "" must be sent back; None must not become ""."""
    turns = [ASK, answer(thought(""), call()), tool(result()), answer(call("b")), tool(result("b"))]

    assert reasonings(replayed_turns(turns, DEEPSEEK)) == [[""], []]


def test_z06_the_anthropic_route_keeps_thinking_blocks() -> None:
    """DeepSeek behind /anthropic requires the block back, signed or not."""
    turns = [ASK, answer(block("Hm."), call()), tool(result()), NEXT]

    assert replayed_turns(turns, DEEPSEEK_ANTHROPIC) == tuple(turns)


def test_z08_a_thinking_block_becomes_the_field_that_kimi_demands() -> None:
    """A client with the Anthropic format returns Kimi's own reasoning as a block."""
    turns = [ASK, answer(block("Hm.", signature="S"), call()), tool(result())]

    replayed = replay_reasoning(turns, Receiver(KIMI))

    assert replayed.turns[1].parts[0] == thought("Hm.")
    assert [change.kind for change in replayed.changes] == [ChangeKind.REASONING_CONVERTED]
    assert [loss.kind for loss in replayed.losses] == [LossKind.SIGNATURE]


def test_z08_a_redacted_block_has_no_text_to_send() -> None:
    """Another vendor cannot read its data."""
    redacted = Reasoning("", ReasoningKind.BLOCK, {"type": "redacted_thinking", "data": "D"})

    turns = [ASK, answer(redacted, call()), tool(result())]

    assert reasonings(replayed_turns(turns, KIMI)) == [[]]
    assert loss_kinds(turns, KIMI) == [LossKind.SIGNATURE]


@pytest.mark.parametrize(
    ("dialect", "name"),
    [(DEEPSEEK, "reasoning_content"), (OLLAMA, "thinking"), (GLM, "reasoning_content")],
)
def test_the_field_has_the_name_that_the_vendor_gives_it(dialect: Dialect, name: str) -> None:
    """reasoning_content, reasoning and thinking are names of the same field."""
    turns = [ASK, answer(thought("Hm.", "reasoning"), call()), tool(result())]

    replayed = replay_reasoning(turns, Receiver(dialect))

    assert replayed.turns[1].parts[0] == thought("Hm.", name)
    assert [change.kind for change in replayed.changes] == [ChangeKind.REASONING_RENAMED]


@pytest.mark.parametrize("dialect", [OPENAI, MISTRAL])
def test_vendors_that_would_refuse_the_field_do_not_get_it(dialect: Dialect) -> None:
    """Reasoning is removed for vendors that do not accept it."""
    turns = [ASK, answer(thought(), call()), tool(result())]

    assert reasonings(replayed_turns(turns, dialect)) == [[]]
    assert loss_kinds(turns, dialect) == [LossKind.REASONING]


def test_details_go_back_as_the_array_they_came_in() -> None:
    """MiniMax gets its raw array for all turns, not a string made from it."""
    array: JSON = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "b"}]
    turns = [
        ASK,
        answer(Reasoning("ab", ReasoningKind.DETAILS, array), call()),
        tool(result()),
        NEXT,
    ]

    assert replayed_turns(turns, MINIMAX) == tuple(turns)
    assert loss_kinds(turns, DEEPSEEK) == [LossKind.REASONING]


def test_z12_a_call_made_elsewhere_gets_the_sentinel_only_where_a_signature_is_missing() -> None:
    """Gemini refuses unsigned calls; only the first call of a step carries a signature."""
    own: JSON = {"thoughtSignature": "REAL"}
    turns = [
        ASK,
        answer(call("a"), call("b"), origin="other"),
        tool(result("a"), result("b")),
        answer(call("c", gemini=own), call("d"), origin="me"),
        tool(result("c"), result("d")),
        answer(call("e", gemini=own), call("f")),
        tool(result("e"), result("f")),
    ]

    replayed = replay_reasoning(turns, Receiver(GEMINI, "me"))

    first, second = replayed.turns[1].calls
    assert first.extra == {"gemini": {"thoughtSignature": SENTINEL}}
    assert second.extra == {}
    assert replayed.turns[3:] == tuple(turns[3:])
    assert [change.kind for change in replayed.changes] == [ChangeKind.SIGNATURE_SENTINEL]


def test_z12_injected_history_gets_the_sentinel_and_own_history_never_does() -> None:
    """Calls that the endpoint itself left unsigned (2.5) get no signature.

    A call from its text, or one that replaces a broken call, does not count as its own.
    """
    injected = [ASK, answer(call()), tool(result())]
    own_call = replace(call(), format="gemini")
    own = [ASK, answer(own_call, origin="me"), tool(result())]
    from_text = [ASK, answer(replace(own_call, format="hermes"), origin="me"), tool(result())]
    mended = [ASK, answer(replace(own_call, repairs=(IN_HISTORY,)), origin="me"), tool(result())]

    for turns in (injected, from_text, mended):
        assert replayed_turns(turns, GEMINI, "me")[1].calls[0].extra["gemini"]
    assert replayed_turns(own, GEMINI, "me") == tuple(own)


def test_z13_signatures_of_another_route_are_stripped_before_the_sentinel() -> None:
    """After a switch of model, key or route an old signature is invalid."""
    signed: JSON = {"thoughtSignature": "OLD", "other": 1}
    text = Text("", {"gemini": {"thoughtSignature": "OLD"}})
    turns = [ASK, answer(text, call(gemini=signed), origin="old"), tool(result())]

    replayed = replay_reasoning(turns, Receiver(GEMINI, "new"))

    assert replayed.turns[1].parts[0] == Text("")
    assert replayed.turns[1].calls[0].extra == {"gemini": {"thoughtSignature": SENTINEL}}
    assert [loss.kind for loss in replayed.losses] == [LossKind.SIGNATURE] * 2


def test_signed_blocks_go_back_whole_and_to_their_issuer_only() -> None:
    """A foreign signature is refused; the whole block is dropped, never a part of it."""
    signed = block("Hm.", signature="S")
    turns = [ASK, answer(signed, call(), origin="claude"), tool(result())]

    assert replayed_turns(turns, ANTHROPIC, "claude") == tuple(turns)
    assert replayed_turns(turns, ANTHROPIC) == tuple(turns)
    assert reasonings(replayed_turns(turns, ANTHROPIC, "other-claude")) == [[]]
    assert loss_kinds(turns, ANTHROPIC, "other-claude") == [LossKind.SIGNATURE]


def test_a_signed_block_with_empty_text_stays() -> None:
    """Newer models hide the text; the signature matters."""
    turns = [ASK, answer(block("", signature="S"), call()), tool(result())]

    assert replayed_turns(turns, ANTHROPIC) == tuple(turns)


def test_z54_a_message_keeps_all_of_its_blocks_or_none() -> None:
    """A broken stream leaves an unsigned block, and a message with only some blocks is refused."""
    turns = [ASK, answer(block("one", signature="S"), block("two"), call()), tool(result())]

    assert reasonings(replayed_turns(turns, ANTHROPIC)) == [[]]
    assert len(loss_kinds(turns, ANTHROPIC)) == 2


def test_z69_blocks_bound_to_a_changed_prefix_are_stripped() -> None:
    """The signature covers a changed system text, tool or earlier turn."""
    turns = [ASK, answer(block("Hm.", signature="S"), call()), tool(result())]

    assert reasonings(replayed_turns(turns, ANTHROPIC_BOUND, prefix_changed=True)) == [[]]
    assert loss_kinds(turns, ANTHROPIC_BOUND, prefix_changed=True) == [LossKind.SIGNATURE]
    assert replayed_turns(turns, ANTHROPIC_BOUND) == tuple(turns)
    assert replayed_turns(turns, ANTHROPIC, prefix_changed=True) == tuple(turns)


def test_z51_a_reasoning_item_and_its_call_go_back_together() -> None:
    """In order, with their ids."""
    turns = [
        ASK,
        answer(item(), call(openai_responses={"id": "fc_1", "status": "completed"})),
        tool(result()),
    ]

    assert replayed_turns(turns, OPENAI_RESPONSES) == tuple(turns)


def test_z51_ids_are_stripped_where_the_reasoning_item_cannot_go_back() -> None:
    """A function_call with an id requires its reasoning item; without an id it does not."""
    item_text = Text("So.", {"openai_responses": {"$item": {"id": "msg_1", "status": "completed"}}})
    own_call = call(openai_responses={"id": "fc_1", "status": "completed"})
    turns = [ASK, answer(item(), item_text, own_call, origin="old"), tool(result())]

    replayed = replay_reasoning(turns, Receiver(OPENAI_RESPONSES, "new"))

    text, sent_call = replayed.turns[1].parts
    assert isinstance(text, Text)
    assert isinstance(sent_call, ToolCall)
    assert (text.extra, sent_call.extra) == ({}, {})
    kinds = [LossKind.REASONING, LossKind.EXTRA, LossKind.EXTRA]
    assert [loss.kind for loss in replayed.losses] == kinds


def test_z51_ids_of_another_endpoint_are_stripped_where_no_reasoning_item_was() -> None:
    """The id is unknown to another endpoint."""
    own_call = call(openai_responses={"id": "fc_1"})

    turns = [ASK, answer(own_call, origin="old"), tool(result())]

    assert replayed_turns(turns, OPENAI_RESPONSES, "new")[1].parts == (call(),)
    assert replayed_turns(turns, OPENAI_RESPONSES, "old") == tuple(turns)


def test_z51_a_reasoning_item_without_a_following_item_is_dropped() -> None:
    """It would be refused for lack of the following item."""
    turns = [ASK, answer(call(openai_responses={"id": "fc_1"}), item()), tool(result())]

    replayed = replay_reasoning(turns, Receiver(OPENAI_RESPONSES))

    assert replayed.turns[1].parts == (call(),)
    assert [loss.kind for loss in replayed.losses] == [LossKind.REASONING]


def test_z51_ids_are_stripped_from_texts_where_an_item_was_dropped() -> None:
    """A message with an id requires its reasoning item, as a call does."""
    item_text = Text("So.", {"openai_responses": {"$item": {"id": "msg_1", "status": "completed"}}})
    turns = [ASK, answer(item_text, item()), NEXT]

    text = replayed_turns(turns, OPENAI_RESPONSES)[1].parts

    assert text == (Text("So.", {"openai_responses": {"$item": {"status": "completed"}}}),)


def test_z63_preserved_thinking_sends_the_reasoning_of_all_turns() -> None:
    """Without it some models make calls with empty arguments after a few turns."""
    assert replayed_turns(TWO_QUESTIONS, QWEN_PRESERVED) == tuple(TWO_QUESTIONS)


def test_z60_the_rule_comes_from_the_profile_and_not_from_a_name() -> None:
    """A dialect follows its measured rule."""
    measured = override_dialect(DEEPSEEK_V32, {"reasoning_replay": "required_all_turns"})

    assert measured.replay is ReplayRule.ALL_TURNS
    assert replayed_turns(TWO_QUESTIONS, measured) == tuple(TWO_QUESTIONS)


def test_z60_a_measured_duty_holds_without_tools_too() -> None:
    """A measured requirement applies whatever the dialect assumes about tools."""
    talk = [ASK, answer(thought("one"), Text("Yes.")), NEXT]
    measured = override_dialect(DEEPSEEK, {"reasoning_replay": "required_all_turns"})

    assert reasonings(replayed_turns(talk, DEEPSEEK)) == [[]]
    assert reasonings(replayed_turns(talk, measured)) == [["one"]]


@given(any_turns, st.sampled_from(sorted(NAMED)), st.sampled_from(["", "a"]))
def test_replaying_what_was_replayed_changes_nothing(
    turns: list[Turn], name: str, origin: str
) -> None:
    """Replay is idempotent."""
    once = replayed_turns(turns, NAMED[name], origin)

    assert replayed_turns(list(once), NAMED[name], origin) == once
