from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from probes.adapters.anthropic.adapter import AnthropicAdapter
from probes.adapters.gemini.adapter import GeminiAdapter
from probes.adapters.ollama.adapter import OllamaAdapter
from probes.adapters.request_url import request_url
from probes.errors import WireError
from probes.losses import LossKind
from probes.messages import (
    BrokenCall,
    ModelCall,
    Opaque,
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
from tests.probes.adapters.anthropic_bodies import requests

ADAPTER = AnthropicAdapter()
THINKING = {"type": "thinking", "thinking": "hm", "signature": "S==", "later": 1}
REDACTED = {"type": "redacted_thinking", "data": "xyz"}
CALL = ToolCall("toolu_1", "f", {"a": 1}, "anthropic", '{"a": 1}')
OTHER = ToolCall("toolu_2", "g", {}, "anthropic", "{}")


def ask(*turns: Turn, **over: Any) -> ModelCall:
    return ModelCall("m", turns, **over)


def write_question(*turns: Turn, **over: Any) -> Any:
    return ADAPTER.write_request(ask(*turns, **over))


def user(text: str) -> Turn:
    return Turn(Role.USER, (Text(text),))


def results(*tool_results: ToolResult) -> Turn:
    return Turn(Role.TOOL, tool_results)


def test_a_three_step_conversation_is_written_as_the_format_wants_it() -> None:
    """System separate, calls as objects, results first in one user message, error flag kept."""
    call = ask(
        Turn(Role.SYSTEM, (Text("be brief"),)),
        user("go"),
        Turn(Role.ASSISTANT, (Text("I will"), CALL, OTHER)),
        results(ToolResult("toolu_1", "one"), ToolResult("toolu_2", "no", is_error=True)),
        user("and?"),
        tools=(ToolSpec("f", "does", {"type": "object"}, strict=True), ToolSpec("g", "", None)),
        tool_choice=ToolChoice("named", "f"),
        parallel=False,
        stream=True,
    )

    body = ADAPTER.write_request(call)

    assert body == {
        "model": "m",
        "max_tokens": 1024,
        "system": "be brief",
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I will"},
                    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_2",
                        "content": "no",
                        "is_error": True,
                    },
                    {"type": "text", "text": "and?"},
                ],
            },
        ],
        "tools": [
            {
                "name": "f",
                "description": "does",
                "input_schema": {"type": "object"},
                "strict": True,
            },
            {"name": "g", "input_schema": {"type": "object", "properties": {}}},
        ],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        "stream": True,
    }


def test_z68_parallel_results_become_one_user_message() -> None:
    """Results in separate turns are sent as one message; otherwise only the first would count."""
    body = write_question(
        user("go"),
        Turn(Role.ASSISTANT, (CALL, OTHER)),
        results(ToolResult("toolu_1", "1")),
        results(ToolResult("toolu_2", "2")),
    )

    content = body["messages"][-1]["content"]
    assert len(body["messages"]) == 3
    assert [block["tool_use_id"] for block in content] == ["toolu_1", "toolu_2"]


def test_z52_results_stand_before_the_text_that_interrupted_them() -> None:
    """Text before the results is sent after them, because results must follow the calls."""
    body = write_question(
        user("go"),
        Turn(Role.ASSISTANT, (CALL,)),
        user("wait"),
        results(ToolResult("toolu_1", "1")),
    )

    kinds = [block["type"] for block in body["messages"][-1]["content"]]
    assert kinds == ["tool_result", "text"]


def test_z53_a_call_that_is_not_written_takes_its_result_along() -> None:
    """A broken call cannot be written, and a result without its call would be refused."""
    broken = BrokenCall("{oops", "no JSON", id="toolu_1", name="f")
    call = ask(
        user("go"),
        Turn(Role.ASSISTANT, (Text("hm"), broken)),
        results(ToolResult("toolu_1", "invalid", is_error=True)),
        user("again"),
    )

    body: Any = ADAPTER.write_request(call)

    assert [m["content"] for m in body["messages"]] == ["go", "hm", "again"]
    losses = [(loss.kind, loss.path) for loss in ADAPTER.losses(call)]
    assert losses == [
        (LossKind.BROKEN_CALL, "$.turns[1].parts[1]"),
        (LossKind.BROKEN_CALL, "$.turns[2]"),
    ]


@pytest.mark.parametrize("block", [THINKING, REDACTED])
def test_z06_z54_thinking_goes_back_byte_for_byte_in_its_place(block: dict[str, Any]) -> None:
    """A signed block is sent back unchanged, unknown fields included, before its call."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}
    messages: list[Any] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [block, use]},
    ]
    body: Any = {"model": "m", "max_tokens": 9, "messages": messages}

    call = ADAPTER.read_request(body)

    assert call.turns[1].parts[0] == Reasoning(
        block.get("thinking", ""), ReasoningKind.BLOCK, block
    )
    assert ADAPTER.write_request(call) == body


def test_z62_empty_thinking_between_calls_is_kept_by_its_type() -> None:
    """Blocks are distinguished by type, so an empty signed one between two calls is kept."""
    empty = {"type": "thinking", "thinking": "", "signature": "T=="}
    turn = Turn(Role.ASSISTANT, (CALL, Reasoning("", ReasoningKind.BLOCK, empty), OTHER))

    content = write_question(user("go"), turn)["messages"][1]["content"]

    assert [block["type"] for block in content] == ["tool_use", "thinking", "tool_use"]
    assert content[1] == empty


def test_z72_calls_are_written_once_though_the_message_carried_them_twice() -> None:
    """Calls have one source; a second copy in another format's field is not sent."""
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    double: Any = {"role": "assistant", "content": [use], "tool_calls": [{"id": "toolu_1"}]}

    call = ADAPTER.read_request({"model": "m", "messages": [double]})
    body: Any = ADAPTER.write_request(call)

    assert len(call.turns[0].calls) == 1
    assert body["messages"] == [{"role": "assistant", "content": [use]}]


def test_reasoning_of_another_format_is_not_sent_as_a_thinking_block() -> None:
    """A block without the issuer's signature would be refused, so it is dropped and reported."""
    foreign = Reasoning("hm", ReasoningKind.FIELD, "reasoning_content")
    call = ask(user("go"), Turn(Role.ASSISTANT, (foreign, Text("hi"))))

    body: Any = ADAPTER.write_request(call)

    assert body["messages"][1] == {"role": "assistant", "content": "hi"}
    assert [loss.kind for loss in ADAPTER.losses(call)] == [LossKind.REASONING]


def test_empty_text_is_not_written_beside_a_call() -> None:
    """Other formats send "" with a call; this one refuses it."""
    body = write_question(user("go"), Turn(Role.ASSISTANT, (Text(""), CALL)))

    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_system_text_inside_the_conversation_keeps_its_place() -> None:
    """Only leading system turns go into the system field."""
    late = Turn(Role.SYSTEM, (Text("new rule"),))

    body = write_question(Turn(Role.SYSTEM, (Text("a"),)), user("go"), late)

    assert body["system"] == "a"
    assert body["messages"][1] == {"role": "system", "content": "new rule"}


def test_a_limit_is_always_sent() -> None:
    """The format requires max_tokens."""
    assert write_question(user("go"), max_tokens=None)["max_tokens"] == 4096


def test_results_of_blocks_are_kept_and_their_text_is_readable() -> None:
    """Blocks are sent back unchanged; their text is for formats without blocks."""
    image = {"type": "image", "source": {"type": "base64", "data": "AA=="}}
    blocks: Any = [{"type": "text", "text": "seen"}, image]
    block = {"type": "tool_result", "tool_use_id": "t", "content": blocks}
    body: Any = {"model": "m", "messages": [{"role": "user", "content": [block]}]}

    call = ADAPTER.read_request(body)

    assert call.turns[0].results[0] == ToolResult("t", "seen", blocks=tuple(blocks))
    assert ADAPTER.write_request(call)["messages"] == body["messages"]


def test_the_error_flag_of_a_clients_result_is_read() -> None:
    """A failure stays a failure in formats that express it differently."""
    failed = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}
    body: Any = {"messages": [{"role": "user", "content": [failed]}]}

    assert ADAPTER.read_request(body).turns[0].results == (ToolResult("t", "no", is_error=True),)


def test_a_call_with_an_input_that_is_no_object_is_broken() -> None:
    """An input of another type is never written as a call."""
    use: Any = {"type": "tool_use", "id": "t", "name": "f", "input": [1]}

    call = ADAPTER.read_request({"messages": [{"role": "assistant", "content": [use]}]})

    assert isinstance(call.turns[0].parts[0], BrokenCall)
    assert ADAPTER.write_request(call)["messages"] == []


def test_the_vendors_own_tools_keep_their_place_and_are_no_tools_of_ours() -> None:
    """A vendor's server tool is not offered to a model of another vendor."""
    tools = [
        {"type": "web_search_20260318", "name": "web_search"},
        {"name": "f", "input_schema": {"type": "object"}, "eager_input_streaming": True},
        {"type": "bash_20250124", "name": "bash"},
    ]
    body: Any = {"model": "m", "max_tokens": 1, "messages": [], "tools": tools}

    call = ADAPTER.read_request(body)

    assert [spec.name for spec in call.tools] == ["f"]
    assert ADAPTER.write_request(call)["tools"] == tools


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ([], "$"),
        ({}, "$.messages"),
        ({"messages": [1]}, "$.messages[0]"),
        ({"messages": [{"role": "cat", "content": "x"}]}, "$.messages[0].role"),
        ({"messages": [{"role": "user"}]}, "$.messages[0].content"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "$.messages[0].content[0].type"),
        ({"messages": [], "tools": [{}]}, "$.tools[0].name"),
    ],
)
def test_a_broken_request_is_refused_with_its_path(body: Any, at: str) -> None:
    """The error has the path of the invalid field."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_request(body)

    assert caught.value.at == at


def test_fields_of_other_formats_are_reported() -> None:
    """Fields that only another format understands are reported with their path."""
    signed = ToolCall("c", "f", {}, "gemini", "{}", extra={"gemini": {"thoughtSignature": "S"}})
    call = ask(
        Turn(Role.ASSISTANT, (signed, Opaque("gemini", {"inlineData": {}}))),
        extra={"openai": {"seed": 1}, "anthropic": {"top_k": 1}},
    )

    losses = [(loss.kind, loss.path) for loss in ADAPTER.losses(call)]

    assert losses == [
        (LossKind.EXTRA, "$"),
        (LossKind.SIGNATURE, "$.turns[0].parts[0]"),
        (LossKind.OPAQUE, "$.turns[0].parts[1]"),
    ]


def test_the_key_and_the_version_stand_in_headers() -> None:
    """The vendor refuses a request without a version."""
    version = {"anthropic-version": "2023-06-01"}
    assert ADAPTER.headers(None) == version
    assert ADAPTER.headers(Secret("k")) == version | {"x-api-key": "k"}


@pytest.mark.parametrize(
    ("adapter", "base", "url"),
    [
        (ADAPTER, "https://a.example", "https://a.example/v1/messages"),
        (ADAPTER, "https://a.example/v1", "https://a.example/v1/messages"),
        (ADAPTER, "https://a.example/anthropic", "https://a.example/anthropic/v1/messages"),
        (OllamaAdapter(), "http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
        (OllamaAdapter(), "http://127.0.0.1:11434/api", "http://127.0.0.1:11434/api/chat"),
        (
            GeminiAdapter(),
            "https://g.example",
            "https://g.example/v1beta/models/m%2Fx:streamGenerateContent?alt=sse",
        ),
        (
            GeminiAdapter(),
            "https://g.example/v1",
            "https://g.example/v1/models/m%2Fx:streamGenerateContent?alt=sse",
        ),
    ],
)
def test_the_version_of_a_base_url_is_not_said_twice(adapter: Any, base: str, url: str) -> None:
    """The base URL may include the version or not."""
    assert request_url(adapter, base, "models/m/x", stream=True) == url


@given(requests())
def test_a_request_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A client's request is written back unchanged, unknown fields included."""
    call = ADAPTER.read_request(body)

    assert ADAPTER.write_request(call) == body
    assert ADAPTER.losses(call) == []
