"""Trimmed, repaired or stored in between: the request is still what the vendor requires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from probes.errors import HistoryError
from probes.history.call_closure import check_closure
from probes.history.model_conversation import Conversation
from probes.history.trimming import TrimBudget
from probes.messages import JSON, Text, ToolResult
from tests.probes.history.sdk_shapes import accept
from tests.probes.history.vendor_answers import (
    ANTHROPIC,
    ANTHROPIC_BOUND,
    DEEPSEEK,
    EVERYONE,
    GEMINI,
    GEMINI_OLD,
    KIMI,
    MINIMAX,
    MISTRAL,
    OLLAMA,
    OLLAMA_OLD,
    OPENAI,
    RESPONSES,
    function_call,
)
from tests.probes.history.vendors import (
    PARIS,
    Vendor,
    answer_calls,
    ask,
    chat,
    first_question,
    send,
    tool_call_entry,
    two_questions,
)

VENDORS = pytest.mark.parametrize("vendor", EVERYONE, ids=lambda vendor: vendor.dialect_name)
# The system text, the last question, its answer and the result.
LAST = TrimBudget(4)


def stored(conversation: Conversation) -> Conversation:
    return Conversation.from_json(json.loads(json.dumps(conversation.as_json())))


def wire_turns(body: dict[str, Any]) -> list[Any]:
    """The list of a body that holds the turns."""
    return list(body.get("messages") or body.get("input") or body["contents"])


@VENDORS
def test_a_trimmed_talk_is_the_end_of_the_whole_one(vendor: Vendor) -> None:
    """It begins with the question, after the system text, and the remaining turns are unchanged."""
    conversation = two_questions(vendor)

    whole, trimmed = send(conversation, vendor), send(conversation, vendor, budget=LAST)

    accept(vendor.format, trimmed)
    request = vendor.adapter.read_request(trimmed)
    assert [str(turn.role) for turn in request.turns] == ["system", "user", "assistant", "tool"]
    assert check_closure(request.turns) == []
    if vendor is not ANTHROPIC_BOUND:
        end = [message for message in wire_turns(trimmed) if message.get("role") != "system"]
        assert end == wire_turns(whole)[-len(end) :]
    assert trimmed.keys() == whole.keys()


def test_claude_that_binds_its_blocks_gets_none_of_them_after_a_cut() -> None:
    """Their signatures cover the removed turns."""
    messages = send(two_questions(ANTHROPIC_BOUND), ANTHROPIC_BOUND, budget=LAST)["messages"]

    assert [block["type"] for block in messages[1]["content"]] == ["tool_use"]
    sent_messages = send(two_questions(ANTHROPIC), ANTHROPIC, budget=LAST)["messages"]
    assert [block["type"] for block in sent_messages[1]["content"]] == ["thinking", "tool_use"]


@pytest.mark.parametrize("receiver", [MISTRAL, KIMI, OPENAI, ANTHROPIC])
def test_ids_stay_the_same_when_the_beginning_is_cut_off(receiver: Vendor) -> None:
    """Also if an engine gives one id to every call."""
    conversation = Conversation()
    answer = chat({"content": None, "tool_calls": [tool_call_entry("same", "weather", PARIS)]})[0]
    for _ in range(3):
        conversation.add_user("Weather in Paris?")
        ask(OPENAI, conversation, answer)
        answer_calls(conversation, "18")

    whole = receiver.adapter.read_request(send(conversation, receiver)).turns
    trimmed = receiver.adapter.read_request(send(conversation, receiver, budget=LAST)).turns

    ids = [call.id for turn in whole for call in turn.calls]
    assert len(set(ids)) == 3
    assert [call.id for turn in trimmed for call in turn.calls] == ids[-1:]


@VENDORS
def test_a_talk_that_was_left_open_is_closed_on_the_way(vendor: Vendor) -> None:
    """Each call without a result gets an interruption error; the rest is unchanged."""
    conversation = first_question(vendor)
    conversation.add_user("And Oslo?")
    ask(vendor, conversation, vendor.answers[0])
    _, second = conversation.pending
    conversation.add_results([ToolResult(second.id, "20", name=second.name)])
    conversation.add_user("Well?")

    with pytest.raises(HistoryError):
        send(conversation, vendor)
    body = send(conversation, vendor, repair=True)

    accept(vendor.format, body)
    turns = vendor.adapter.read_request(body).turns
    results = [result for turn in turns for result in turn.results][-2:]
    assert check_closure(turns) == []
    assert {result.content for result in results} >= {"20"}
    assert any("interrupted" in result.content for result in results)
    conversation.repair()
    assert send(conversation, vendor) == body


@pytest.mark.parametrize("vendor", [DEEPSEEK, MINIMAX, KIMI, MISTRAL, OPENAI])
def test_a_call_that_was_cut_off_never_goes_back_as_broken_json(vendor: Vendor) -> None:
    """It is sent without arguments, with its reasoning verbatim and an error as its result."""
    body = json.loads(json.dumps(vendor.answers[0]).replace(r"\"Rome\"}", r"\"Ro"))
    body["choices"][0]["finish_reason"] = "length"
    conversation = Conversation()
    conversation.add_user("Weather in Paris and Rome?")
    ask(vendor, conversation, body)
    whole, broken = conversation.pending
    conversation.add_results([ToolResult(whole.id, "18")])

    messages = send(conversation, vendor, repair=True)["messages"]

    message = body["choices"][0]["message"]
    calls: list[Any] = [call["function"]["arguments"] for call in messages[1]["tool_calls"]]
    assert calls == [PARIS, "{}"]
    assert [call["id"] for call in messages[1]["tool_calls"]] == [whole.id, broken.id]
    for name in ("reasoning_content", "reasoning_details"):
        assert messages[1].get(name) == message.get(name)
    error = json.loads(messages[3]["content"].removeprefix("Error: "))
    assert (messages[3]["tool_call_id"], error["is_error"]) == (broken.id, True)


def test_a_broken_first_call_of_gemini_goes_back_under_the_sentinel() -> None:
    """Its signature is lost, and an unsigned first call is refused."""
    broken: dict[str, JSON] = {"functionCall": {"name": "weather", "args": [], "id": "b"}}
    parts: JSON = [{**broken, "thoughtSignature": "CsA9"}, function_call("clock", {}, "c")]
    content: JSON = {"role": "model", "parts": parts}
    conversation = Conversation()
    conversation.add_user("Weather and time?")
    ask(GEMINI, conversation, {"candidates": [{"content": content, "finishReason": "STOP"}]})
    conversation.add_results([ToolResult("c", "noon")])

    contents = send(conversation, GEMINI, repair=True)["contents"]

    assert contents[1]["parts"] == [
        function_call("weather", {}, "b", "skip_thought_signature_validator"),
        function_call("clock", {}, "c"),
    ]
    assert [part["functionResponse"]["id"] for part in contents[2]["parts"]] == ["b", "c"]


@pytest.mark.parametrize("vendor", [OPENAI, ANTHROPIC, GEMINI, RESPONSES, OLLAMA, MISTRAL])
def test_a_late_result_stands_behind_its_call_on_the_wire(vendor: Vendor) -> None:
    """Before the question that came in between; an orphan is not sent."""
    conversation = first_question(vendor)
    ask(vendor, conversation, vendor.answers[3])
    (waiting,) = conversation.pending
    conversation.add_user("Well?")
    conversation.add_results([ToolResult(waiting.id, "7"), ToolResult("nobody", "lost")])

    body = send(conversation, vendor, repair=True)

    turns = vendor.adapter.read_request(body).turns
    assert check_closure(turns) == []
    assert [str(turn.role) for turn in turns][-1] == "user"
    assert "lost" not in json.dumps(body)


@pytest.mark.parametrize("vendor", [OPENAI, ANTHROPIC, GEMINI, RESPONSES, OLLAMA, MISTRAL])
def test_what_a_user_says_beside_a_result_is_heard(vendor: Vendor) -> None:
    """Text beside results in a user message is kept in other formats."""
    conversation = first_question(vendor)
    ask(vendor, conversation, vendor.answers[3])
    (waiting,) = conversation.pending
    conversation.add_user(ToolResult(waiting.id, "7"), "And hurry.")

    turns = vendor.adapter.read_request(send(conversation, vendor)).turns

    assert check_closure(turns) == []
    assert [part.content for turn in turns for part in turn.results][-1] == "7"
    assert turns[-1].parts[-1] == Text("And hurry.")


@pytest.mark.parametrize(
    "vendor", [*EVERYONE, GEMINI_OLD, OLLAMA_OLD], ids=lambda vendor: vendor.dialect_name
)
def test_storage_in_the_middle_changes_no_byte(vendor: Vendor) -> None:
    """Stored and read again after every step, the requests are the same."""
    messages, talk = Conversation(), Conversation()
    for answer, *contents in zip(
        vendor.answers, ("18", "noon", "", "7"), ("!no", "", "", ""), strict=True
    ):
        for conversation in (messages, talk):
            conversation.add_user("Next?")
            ask(vendor, conversation, answer)
            answer_calls(conversation, *contents[: len(conversation.pending)])
        messages = stored(messages)
        assert send(messages, vendor) == send(talk, vendor)
    assert messages == talk
