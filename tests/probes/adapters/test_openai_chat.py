from __future__ import annotations

import json
from typing import Any

import pytest

from probes.adapters.base import ErrorBody, write_event_stream
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.errors import WireError
from probes.events import Event, PartDelta, PartEnded, PartKind, PartStarted, ReplyEnded
from probes.losses import LossKind
from probes.messages import (
    AUTO,
    JSON,
    BrokenCall,
    ModelCall,
    Opaque,
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
    Usage,
)
from probes.secret import Secret
from probes.streams.assembler import reply_events

ADAPTER = OpenAIChatAdapter()
TOOL = ToolSpec("f", "Does f.", {"type": "object"})
ASK = Turn(Role.USER, (Text("Call f."),))


def test_a_question_with_a_tool_is_written_as_openai_wants_it() -> None:
    """The whole body, written out."""
    body = ADAPTER.write_request(ModelCall("m", (ASK,), (TOOL,), 64, AUTO))

    function = {"name": "f", "description": "Does f.", "parameters": {"type": "object"}}
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Call f."}],
        "max_tokens": 64,
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "auto",
    }


def test_a_tool_history_is_written_with_its_ids() -> None:
    """One assistant message with its calls, then one tool message per result."""
    call = ToolCall("c1", "f", {"a": 1}, "openai", '{"a":1}')
    assistant_turn = Turn(Role.ASSISTANT, (call,))
    tool_turn = Turn(Role.TOOL, (ToolResult("c1", "42"), ToolResult("c2", "no", is_error=True)))

    body = ADAPTER.write_request(ModelCall("m", (assistant_turn, tool_turn)))

    function = {"name": "f", "arguments": '{"a":1}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    assert body["messages"] == [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: no"},
    ]


def test_options_join_the_body_but_never_replace_the_question() -> None:
    """Operators may add parameters; model, messages and tools cannot be overridden."""
    options: dict[str, JSON] = {"temperature": 0, "model": "other", "messages": []}

    body = ADAPTER.write_request(ModelCall("m", (ASK,), options=options))

    assert body["temperature"] == 0
    assert body["model"] == "m"
    assert body["messages"] == [{"role": "user", "content": "Call f."}]


def test_the_newer_name_of_the_token_limit_replaces_the_older() -> None:
    """OpenAI refuses a request with both names."""
    body = ADAPTER.write_request(ModelCall("m", (ASK,), options={"max_completion_tokens": 9}))

    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


def test_the_key_goes_into_the_bearer_header_only() -> None:
    """One header with a key, none without."""
    assert ADAPTER.headers(Secret("sim-1")) == {"Authorization": "Bearer sim-1"}
    assert ADAPTER.headers(None) == {}


def test_errors_are_read_from_every_usual_envelope() -> None:
    """OpenAI's object, a bare string, a message or a detail; a reply is no error."""
    expected: list[tuple[JSON, ErrorBody | None]] = [
        ({"error": {"message": "bad", "code": "x"}}, ErrorBody("bad", "x")),
        ({"error": {"message": "bad", "code": 1210}}, ErrorBody("bad", "1210")),
        ({"error": {"message": "bad", "code": None}}, ErrorBody("bad")),
        ({"error": "bad"}, ErrorBody("bad")),
        ({"error": {"reason": "r"}}, ErrorBody('{"reason": "r"}')),
        ({"message": "bad"}, ErrorBody("bad")),
        ({"detail": "bad"}, ErrorBody("bad")),
        ({"choices": [{}], "error": "ignored"}, None),
        ({"error": None}, None),
        ([1], None),
    ]

    assert [ADAPTER.read_error(body) for body, _ in expected] == [error for _, error in expected]


def test_a_request_is_read_into_turns() -> None:
    """Parallel results are one turn; developer becomes system; the limit's newer name is kept."""
    function: JSON = {"name": "f", "arguments": '{"a":1}'}
    entry: JSON = {"id": "c1", "type": "function", "function": function}
    body: JSON = {
        "model": "m",
        "max_completion_tokens": 5,
        "stream": True,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "assistant", "content": None, "reasoning_content": "", "tool_calls": [entry]},
            {"role": "tool", "tool_call_id": "c1", "content": "42"},
            {"role": "tool", "tool_call_id": "c2", "content": "43"},
        ],
    }

    assert ADAPTER.read_request(body) == ModelCall(
        "m",
        (
            Turn(Role.SYSTEM, (Text("Be brief."),), extra={"openai": {"role": "developer"}}),
            Turn(
                Role.ASSISTANT,
                (
                    Reasoning("", ReasoningKind.FIELD, "reasoning_content"),
                    ToolCall("c1", "f", {"a": 1}, "openai", '{"a":1}'),
                ),
            ),
            Turn(Role.TOOL, (ToolResult("c1", "42"), ToolResult("c2", "43"))),
        ),
        max_tokens=5,
        stream=True,
        extra={"openai": {"max_completion_tokens": 5}},
    )


def test_a_legacy_function_history_is_read_with_its_pairs() -> None:
    """The older form has no ids; call and result get the same one."""
    call: JSON = {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
    result: JSON = {"role": "function", "name": "f", "content": "42"}

    turns = ADAPTER.read_request({"model": "m", "messages": [call, result]}).turns

    assert turns[1].results[0].call_id == turns[0].calls[0].id


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ([], "$"),
        ({"model": "m"}, "$.messages"),
        ({"messages": []}, "$.model"),
        ({"model": "m", "messages": [5]}, "$.messages[0]"),
        ({"model": "m", "messages": [{"role": "boss"}]}, "$.messages[0].role"),
        ({"model": "m", "messages": [{"role": "tool"}]}, "$.messages[0].tool_call_id"),
        ({"model": "m", "messages": [{"role": "user", "content": 5}]}, "$.messages[0].content"),
        ({"model": "m", "messages": [], "tools": [{"type": "function"}]}, "$.tools[0].function"),
    ],
)
def test_a_request_that_cannot_be_read_is_located(body: JSON, path: str) -> None:
    """The error has the path of the invalid field."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_request(body)

    assert caught.value.at == path


def test_a_broken_call_keeps_its_place_in_a_history_that_answers_it() -> None:
    """Otherwise its result would be an orphan; a broken call without an id is dropped."""
    known = BrokenCall('{"a":', "cut", name="f", id="c1")
    turns = (Turn(Role.ASSISTANT, (known, BrokenCall("{", "cut"))),)
    call = ModelCall("m", turns)

    messages: Any = ADAPTER.write_request(call)["messages"]

    assert [entry["id"] for entry in messages[0]["tool_calls"]] == ["c1"]
    assert [loss.path for loss in ADAPTER.losses(call)] == ["$.turns[0].parts[1]"]


def test_a_broken_call_is_never_handed_to_a_client() -> None:
    """It is dropped, the finish reason is not tool_calls, and the loss is reported."""
    reply = Reply((BrokenCall("{", "cut", name="f", id="c1"),), Stop.TOOL_CALLS)

    body: Any = ADAPTER.write_reply(reply)

    assert body["choices"][0]["finish_reason"] == "stop"
    assert "tool_calls" not in body["choices"][0]["message"]
    assert [loss.kind for loss in ADAPTER.losses(reply)] == [LossKind.BROKEN_CALL]


def test_what_cannot_be_carried_is_named() -> None:
    """One loss per item, with its path."""
    image: JSON = {"type": "image", "source": {}}
    signed = ToolCall("c1", "f", {}, "gemini", "{}", extra={"gemini": {"thoughtSignature": "S"}})
    result = ToolResult("c1", "x", is_error=True, blocks=(image,))
    turns = (
        Turn(
            Role.ASSISTANT,
            (Reasoning("Hm.", ReasoningKind.BLOCK, {"signature": "S"}), signed, Text("After.")),
        ),
        Turn(Role.TOOL, (result,), extra={"anthropic": {"cache_control": {"type": "x"}}}),
        Turn(Role.USER, (Opaque("anthropic", image),)),
    )

    losses = ADAPTER.losses(ModelCall("m", turns, extra={"ollama": {"keep_alive": 5}}))

    assert [(loss.kind, loss.path) for loss in losses] == [
        (LossKind.REASONING, "$.turns[0].parts[0]"),
        (LossKind.SIGNATURE, "$.turns[0].parts[1]"),
        (LossKind.BLOCK_ORDER, "$.turns[0].parts[2]"),
        (LossKind.ERROR_FLAG, "$.turns[1].parts[0].is_error"),
        (LossKind.RESULT_BLOCKS, "$.turns[1].parts[0].blocks"),
        (LossKind.EXTRA, "$.turns[1]"),
        (LossKind.OPAQUE, "$.turns[2].parts[0]"),
        (LossKind.EXTRA, "$"),
    ]


def test_foreign_reasoning_is_shown_to_a_client_but_not_sent_to_an_endpoint() -> None:
    """An endpoint only gets reasoning in its own form."""
    thought = Reasoning("Hm.", ReasoningKind.BLOCK, {"thinking": "Hm.", "signature": "S"})

    to_client: Any = ADAPTER.write_reply(Reply((thought, Text("Hi")), Stop.END))
    to_endpoint: Any = ADAPTER.write_request(ModelCall("m", (Turn(Role.ASSISTANT, (thought,)),)))

    assert to_client["choices"][0]["message"]["reasoning_content"] == "Hm."
    assert to_endpoint["messages"] == [{"role": "assistant", "content": ""}]


def test_a_stream_is_written_in_the_order_that_clients_expect() -> None:
    """Role first, then deltas, the call's head and pieces, the reason, the usage, the end."""
    call = ToolCall("c1", "f", {"a": 1}, "openai", '{"a":1}')
    thought = Reasoning("Hm.", ReasoningKind.FIELD, "reasoning")
    reply = Reply((thought, Text("Hi"), call), Stop.TOOL_CALLS, Usage(1, 2), "c", "m")

    lines = b"".join(write_event_stream(ADAPTER, reply_events(reply))).decode().split("\n\n")

    bodies = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    choices = [choice for body in bodies for choice in body["choices"]]
    head = {"name": "f", "arguments": ""}
    assert [choice["delta"] for choice in choices] == [
        {"role": "assistant", "content": None},
        {"reasoning": "Hm."},
        {"content": "Hi"},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": head}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":1}'}}]},
        {},
    ]
    assert [choice["finish_reason"] for choice in choices] == [None] * 5 + ["tool_calls"]
    assert bodies[-1]["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert lines[-2:] == ["data: [DONE]", ""]


def test_a_call_without_an_id_waits_until_it_has_one() -> None:
    """A client cannot answer a call that has no id."""
    call = ToolCall("call_minted", "f", {}, "openai", "{}")
    events: list[Event] = [
        PartStarted(0, PartKind.CALL, name="f"),
        PartDelta(0, "{}"),
        PartEnded(0, call),
        ReplyEnded(Reply((call,), Stop.TOOL_CALLS)),
    ]

    written = list(write_event_stream(ADAPTER, events))

    assert b"tool_calls" not in written[0]
    assert b'"id": "call_minted"' in written[1]
    assert b'"arguments": "{}"' in written[1]
