"""Rows of the failure zoo that only show on the wire: a field written or not, empty or absent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.dialects import dialect_named
from probes.dialects.apply import apply_dialect
from probes.history.model_conversation import Conversation, SendOptions
from probes.history.request_changes import ChangeKind
from probes.messages import JSON, ModelCall, ToolSpec
from tests.probes.history.turn_builders import result
from tests.probes.history.vendors import tool_call_entry

CHAT = FORMATS["openai"]
QUESTION = ModelCall("m", (), (ToolSpec("f", "Does f.", {"type": "object"}),))


def conversation_of(*messages: dict[str, JSON]) -> Conversation:
    """A conversation with these messages of the endpoint; each call is answered."""
    conversation = Conversation()
    conversation.add_user("Do it.")
    for message in messages:
        choice: dict[str, JSON] = {"index": 0, "message": {"role": "assistant", **message}}
        reply = CHAT.read_reply({"choices": [{**choice, "finish_reason": "stop"}]})
        conversation.add_reply(reply)
        if reply.calls:
            conversation.add_results([result(call.id) for call in reply.calls])
    return conversation


def written_messages(conversation: Conversation, dialect: str) -> list[dict[str, Any]]:
    """The assistant messages of the request."""
    body: Any = CHAT.write_request(
        conversation.to_call(QUESTION, SendOptions(dialect_named(dialect))).call
    )
    return [message for message in body["messages"] if message["role"] == "assistant"]


def a_call(id_: str) -> JSON:
    return [tool_call_entry(id_, "f", "{}")]


def test_z01_z02_reasoning_goes_out_on_the_messages_it_came_on() -> None:
    """Read and written again, each message has its own reasoning_content."""
    conversation = conversation_of(
        {"content": None, "tool_calls": a_call("c1"), "reasoning_content": "one"},
        {"content": "Done.", "reasoning_content": "two"},
    )

    assert [
        message["reasoning_content"] for message in written_messages(conversation, "deepseek")
    ] == [
        "one",
        "two",
    ]


def test_z02_a_question_with_tools_takes_the_reasoning_of_plain_talk_along() -> None:
    """There are no calls yet, but offered tools make all turns count."""
    conversation = conversation_of({"content": "Yes.", "reasoning_content": "one"})
    conversation.add_user("And now?")

    assert written_messages(conversation, "deepseek")[0]["reasoning_content"] == "one"


def test_z02_z05_storage_loses_no_reasoning() -> None:
    """A stored conversation is sent unchanged, empty reasoning included."""
    conversation = conversation_of(
        {"content": None, "tool_calls": a_call("c1"), "reasoning_content": ""},
        {"content": "Done.", "reasoning_content": "two"},
    )
    stored: JSON = json.loads(json.dumps(conversation.as_json()))

    restored = written_messages(Conversation.from_json(stored), "deepseek")

    assert [message["reasoning_content"] for message in restored] == ["", "two"]


def test_z05_an_empty_field_goes_out_empty_and_an_absent_one_stays_away() -> None:
    """A client that omits the field when it is empty is refused."""
    conversation = conversation_of(
        {"content": None, "tool_calls": a_call("c1"), "reasoning_content": ""},
        {"content": None, "tool_calls": a_call("c2")},
        {"content": None, "tool_calls": a_call("c3"), "reasoning_content": None},
    )

    first, second, third = written_messages(conversation, "kimi")

    assert first["reasoning_content"] == ""
    assert "reasoning_content" not in second
    assert third.get("reasoning_content") is None


@pytest.mark.parametrize(
    "choice",
    [
        "any",
        {"type": "function", "name": "f"},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
    ],
)
def test_z07_a_choice_in_a_clients_own_words_is_not_forced_either(choice: JSON) -> None:
    """A choice kept in the client's format must not bypass the vendor's limit."""
    tool: JSON = {"type": "function", "function": {"name": "f"}}
    body: JSON = {"model": "m", "messages": [], "tools": [tool], "tool_choice": choice}
    question = CHAT.read_request(body)

    thinking = apply_dialect(question, dialect_named("deepseek"))
    silent = apply_dialect(question, dialect_named("deepseek"), thinking=False)

    assert "tool_choice" not in CHAT.write_request(thinking.call)
    assert ChangeKind.TOOL_CHOICE_DROPPED in [change.kind for change in thinking.changes]
    assert CHAT.write_request(silent.call)["tool_choice"] == choice


def test_z08_the_thoughts_of_a_client_that_speaks_anthropic_reach_kimi() -> None:
    """A gateway that loses the block gets a 400 with the index of the message."""
    thinking: JSON = {"type": "thinking", "thinking": "Hm.", "signature": "S"}
    use: JSON = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    result: JSON = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    body: JSON = {
        "messages": [
            {"role": "user", "content": "Do it."},
            {"role": "assistant", "content": [thinking, use]},
            {"role": "user", "content": [result]},
        ]
    }

    conversation = Conversation(list(FORMATS["anthropic"].read_request(body).turns))

    assert written_messages(conversation, "kimi")[0]["reasoning_content"] == "Hm."
