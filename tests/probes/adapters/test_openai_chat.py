from __future__ import annotations

from probes.adapters.base import ErrorBody
from probes.adapters.openai_chat import OpenAIChatAdapter
from probes.messages import (
    JSON,
    ModelCall,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from probes.secret import Secret

ADAPTER = OpenAIChatAdapter()
TOOL = ToolSpec("f", "Does f.", {"type": "object"})
ASK = Turn(Role.USER, (Text("Call f."),))


def test_a_question_with_a_tool_is_written_as_openai_wants_it() -> None:
    """The whole body, written out."""
    body = ADAPTER.write_request(ModelCall("m", (ASK,), (TOOL,), 64, "auto"))

    function = {"name": "f", "description": "Does f.", "parameters": {"type": "object"}}
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Call f."}],
        "max_tokens": 64,
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "auto",
    }


def test_a_tool_history_is_written_with_its_ids() -> None:
    """One assistant message with its calls, then one tool message a result."""
    call = ToolCall("c1", "f", {"a": 1}, "openai", '{"a":1}')
    asked = Turn(Role.ASSISTANT, (call,))
    answered = Turn(Role.TOOL, (ToolResult("c1", "42"), ToolResult("c2", "no", is_error=True)))

    body = ADAPTER.write_request(ModelCall("m", (asked, answered)))

    function = {"name": "f", "arguments": '{"a":1}'}
    calls = [{"id": "c1", "type": "function", "function": function}]
    assert body["messages"] == [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "42"},
        {"role": "tool", "tool_call_id": "c2", "content": "no"},
    ]


def test_options_join_the_body_but_never_replace_the_question() -> None:
    """Operators may add parameters; model, messages and tools stay ours."""
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
    """With a key one header, without a key none."""
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
