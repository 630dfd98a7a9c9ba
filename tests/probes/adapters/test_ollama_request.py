from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from probes.adapters.ollama.adapter import OllamaAdapter
from probes.errors import WireError
from probes.losses import LossKind
from probes.messages import (
    ModelCall,
    Reasoning,
    ReasoningKind,
    Role,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.secret import Secret
from tests.probes.adapters.ollama_bodies import requests

ADAPTER = OllamaAdapter()
CALL = ToolCall("call_1", "f", {"a": 1}, "openai", '{"a":1}')
OTHER = ToolCall("call_2", "g", {}, "openai", "{}")


def user(text: str) -> Turn:
    return Turn(Role.USER, (Text(text),))


def test_a_three_step_conversation_is_written_as_the_format_wants_it() -> None:
    """Arguments are objects, results name their tool, an error is a text prefix."""
    call = ModelCall(
        "m",
        (
            Turn(Role.SYSTEM, (Text("brief"),)),
            user("go"),
            Turn(
                Role.ASSISTANT,
                (Reasoning("hm", ReasoningKind.FIELD, "thinking"), Text("ok"), CALL, OTHER),
            ),
            Turn(
                Role.TOOL,
                (ToolResult("call_1", "one"), ToolResult("call_2", "no", is_error=True)),
            ),
        ),
        tools=(ToolSpec("f", "does", {"type": "object"}), ToolSpec("g", "", None)),
        options={"think": True, "options": {"num_ctx": 9}},
    )

    assert ADAPTER.write_request(call) == {
        "model": "m",
        "stream": False,
        "think": True,
        "options": {"num_predict": 1024, "num_ctx": 9},
        "messages": [
            {"role": "system", "content": "brief"},
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": "ok",
                "thinking": "hm",
                "tool_calls": [
                    {"id": "call_1", "function": {"name": "f", "arguments": {"a": 1}}},
                    {"id": "call_2", "function": {"name": "g", "arguments": {}}},
                ],
            },
            {"role": "tool", "content": "one", "tool_name": "f", "tool_call_id": "call_1"},
            {"role": "tool", "content": "Error: no", "tool_name": "g", "tool_call_id": "call_2"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "f",
                    "description": "does",
                    "parameters": {"type": "object"},
                },
            },
            {"type": "function", "function": {"name": "g", "description": ""}},
        ],
    }


def test_what_the_format_has_no_place_for_is_reported() -> None:
    """No choice, no parallel switch, no strict flag, no error flag, no blocks, no order."""
    call = ModelCall(
        "m",
        (
            Turn(Role.ASSISTANT, (CALL, Text("after"))),
            Turn(Role.ASSISTANT, (Reasoning("r", ReasoningKind.FIELD, "reasoning_content"),)),
            Turn(
                Role.TOOL,
                (ToolResult("call_1", "x", is_error=True, blocks=({"type": "image"},)),),
            ),
        ),
        tools=(ToolSpec("f", "", {}, strict=False),),
        tool_choice=ToolChoice("required"),
        parallel=True,
    )

    assert [loss.kind for loss in ADAPTER.losses(call)] == [
        LossKind.PARALLEL,
        LossKind.TOOL_CHOICE,
        LossKind.STRICT,
        LossKind.BLOCK_ORDER,
        LossKind.REASONING,
        LossKind.ERROR_FLAG,
        LossKind.RESULT_BLOCKS,
    ]


def test_tools_are_forbidden_by_offering_none() -> None:
    """The format has no other way to express it, so nothing is lost."""
    call = ModelCall("m", (user("go"),), (ToolSpec("f", "", {}),), tool_choice=ToolChoice("none"))

    assert "tools" not in ADAPTER.write_request(call)
    assert ADAPTER.losses(call) == []


def test_results_without_ids_answer_the_calls_in_order() -> None:
    """Older builds have no ids: the tool's name counts, then the order."""
    body: Any = {
        "model": "m",
        "messages": [
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "f", "arguments": {"n": 1}}},
                    {"function": {"name": "g", "arguments": {}}},
                    {"function": {"name": "f", "arguments": {"n": 1}}},
                ],
            },
            {"role": "tool", "content": "g", "tool_name": "g"},
            {"role": "tool", "content": "1"},
            {"role": "tool", "content": "2", "tool_name": "f"},
        ],
        "stream": False,
    }

    call = ADAPTER.read_request(body)

    one, two, three = (item.id for item in call.turns[0].calls)
    assert len({one, two, three}) == 3
    assert [turn.results[0].call_id for turn in call.turns[1:]] == [two, one, three]
    assert ADAPTER.write_request(call) == body


def test_a_result_of_ours_has_no_id_where_its_call_had_none() -> None:
    """An older build that sends no ids receives none."""
    entry = {"function": {"name": "f", "arguments": {}}}
    message: Any = {"role": "assistant", "content": "", "tool_calls": [entry]}
    turn = ADAPTER.read_request({"model": "m", "messages": [message]}).turns[0]

    tool_turn = Turn(Role.TOOL, (ToolResult(turn.calls[0].id, "1"),))
    messages: Any = ADAPTER.write_request(ModelCall("m", (turn, tool_turn)))["messages"]

    assert messages == [message, {"role": "tool", "content": "1", "tool_name": "f"}]


def test_streaming_is_meant_where_nothing_is_said() -> None:
    """The default of the format is true, so the field is always sent."""
    assert ADAPTER.read_request({"model": "m", "messages": []}).stream is True
    assert ADAPTER.write_request(ModelCall("m", ()))["stream"] is False


def test_empty_thinking_is_not_absent_thinking() -> None:
    """Empty thinking is replayed as empty thinking."""
    message = {"role": "assistant", "content": "hi", "thinking": ""}
    body: Any = {"model": "m", "messages": [message], "stream": False}

    call = ADAPTER.read_request(body)

    assert call.turns[0].parts[0] == Reasoning("", ReasoningKind.FIELD, "thinking")
    assert ADAPTER.write_request(call) == body


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ([], "$"),
        ({"messages": [{}]}, "$.messages[0].role"),
        ({"messages": [{"role": "cat"}]}, "$.messages[0].role"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
            "$.messages[0].tool_calls[0].function",
        ),
        ({"tools": [{"function": {}}]}, "$.tools[0].function.name"),
    ],
)
def test_a_broken_request_is_refused_with_its_path(body: Any, at: str) -> None:
    """The error has the path of the invalid field."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_request(body)

    assert caught.value.at == at


def test_a_key_is_sent_where_there_is_one() -> None:
    """A local server needs no key; a hosted one gets a bearer token."""
    assert ADAPTER.headers(None) == {}
    assert ADAPTER.headers(Secret("k")) == {"Authorization": "Bearer k"}


@given(requests)
def test_a_request_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A client's request is written back unchanged, unknown fields included."""
    call = ADAPTER.read_request(body)

    assert ADAPTER.write_request(call) == body
    assert ADAPTER.losses(call) == []
