"""A client of one format over an endpoint of another: its reasoning and its wishes arrive."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.dialects import NAMED, Dialect, override_dialect
from probes.dialects.apply import apply_dialect, is_thinking
from probes.dialects.deepseek import DEEPSEEK
from probes.history.model_conversation import Conversation, PreparedCall, SendOptions
from probes.history.request_changes import ChangeKind
from probes.messages import Generation, ModelCall, Thinking, ThinkingMode

TOOL: Any = {"name": "f", "input_schema": {"type": "object"}}
ON, OFF, ADAPTIVE = ThinkingMode.ON, ThinkingMode.OFF, ThinkingMode.ADAPTIVE
# As Claude Code asks: it thinks as it likes, and returns the blocks of its last answer.
CLAUDE: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "thinking": {"type": "adaptive"},
    "output_config": {"effort": "medium"},
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": ""}]},
    ],
}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
# As Codex asks: it returns the reasoning item with its text.
CODEX: dict[str, Any] = {
    "model": "m",
    "reasoning": {"effort": "medium"},
    "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
    "input": [
        {"type": "message", "role": "user", "content": "Go."},
        {**REASONING, "content": [{"type": "reasoning_text", "text": "hm"}]},
        CALL,
        {"type": "function_call_output", "call_id": "c1", "output": ""},
    ],
}


def prepare(format: str, body: Any, dialect: Dialect) -> PreparedCall:
    call = FORMATS[format].read_request(body)
    return Conversation(list(call.turns)).to_call(replace(call, turns=()), SendOptions(dialect))


def sent(prepared: PreparedCall, format: str = "openai") -> Any:
    return json.loads(json.dumps(FORMATS[format].write_request(prepared.call)))


@pytest.mark.parametrize(("format", "body"), [("anthropic", CLAUDE), ("openai_responses", CODEX)])
@pytest.mark.parametrize(
    "dialect",
    [DEEPSEEK, override_dialect(DEEPSEEK, {"reasoning_replay": "required_all_turns"})],
    ids=["assumed", "measured"],
)
def test_reasoning_that_a_client_returns_becomes_the_vendors_field(
    format: str, body: Any, dialect: Dialect
) -> None:
    """DeepSeek refuses the turn without it: 400, reasoning_content must be passed back."""
    prepared = prepare(format, body, dialect)

    request = sent(prepared)
    assert request["messages"][1]["reasoning_content"] == "hm"
    assert request["reasoning_effort"] == "high"
    assert "thinking" not in request or request["thinking"] == {"type": "enabled"}


def test_a_summary_is_not_reasoning() -> None:
    """The Responses API shows summaries; sent as the reasoning itself they would be made up."""
    summary = {**REASONING, "summary": [{"type": "summary_text", "text": "I thought."}]}
    question, _, *rest = CODEX["input"]

    request = sent(
        prepare("openai_responses", CODEX | {"input": [question, summary, *rest]}, DEEPSEEK)
    )

    assert "reasoning_content" not in request["messages"][1]
    assert request["thinking"] == {"type": "disabled"}


def test_a_clients_wish_to_think_does_not_bind_where_its_reasoning_is_missing() -> None:
    """A client that asks for thinking but drops it gets an answer without, not a refusal."""
    question, answer, result = CLAUDE["messages"]
    dropped = {**answer, "content": answer["content"][1:]}

    prepared = prepare("anthropic", CLAUDE | {"messages": [question, dropped, result]}, DEEPSEEK)

    assert sent(prepared)["thinking"] == {"type": "disabled"}
    assert "reasoning_effort" not in sent(prepared)
    assert ChangeKind.THINKING_OFF in [change.kind for change in prepared.changes]


@pytest.mark.parametrize(
    ("dialect", "thinking", "expected"),
    [
        (
            "deepseek",
            Thinking(ON, "xhigh"),
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
        ),
        ("deepseek", Thinking(OFF), {"thinking": {"type": "disabled"}}),
        ("kimi", Thinking(ADAPTIVE, "high"), {}),
        ("kimi", Thinking(ON, "high"), {"thinking": {"type": "enabled"}}),
        ("kimi_k3", Thinking(OFF), {}),
        ("glm", Thinking(ON, "none"), {"thinking": {"type": "enabled"}}),
        ("qwen", Thinking(OFF), {"enable_thinking": False}),
        ("openai", Thinking(ON, "high"), {}),
        ("openai_reasoning", Thinking(ON, "high"), {"reasoning_effort": "none"}),
        ("plain", Thinking(ON, "low"), {"reasoning_effort": "low"}),
        (
            "anthropic",
            Thinking(ON, "low"),
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
        ),
        ("anthropic", Thinking(OFF), {"thinking": {"type": "disabled"}}),
        ("ollama", Thinking(ADAPTIVE, "high"), {}),
        ("ollama", Thinking(ON, "high"), {"think": True}),
        ("openai_responses", Thinking(ON, "high"), {"reasoning": {"effort": "high"}}),
    ],
)
def test_a_wish_to_think_is_written_with_the_vendors_switch(
    dialect: str, thinking: Thinking, expected: Any
) -> None:
    """Of a client of another format: on, off and effort, as far as the vendor knows them."""
    chosen = NAMED[dialect]
    call = FORMATS["anthropic"].read_request(CLAUDE | {"messages": []})
    call = replace(call, generation=Generation(thinking=thinking), extra={})

    body = FORMATS[chosen.format].write_request(apply_dialect(call, chosen).call)

    fields = ("thinking", "reasoning_effort", "enable_thinking", "output_config", "think")
    switches = {name: body[name] for name in (*fields, "reasoning") if name in body}
    assert switches == expected


@pytest.mark.parametrize("dialect", NAMED.values(), ids=NAMED.keys())
def test_a_client_of_the_vendors_own_format_is_sent_as_it_asked(dialect: Dialect) -> None:
    """Its own fields are not written a second time in other words."""
    own: Any = {
        "anthropic": {"thinking": {"type": "adaptive", "display": "omitted"}},
        "openai": {"reasoning_effort": "low"},
        "openai_responses": {"reasoning": {"effort": "low", "summary": "auto"}},
        "gemini": {"generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}},
        "ollama": {"think": "low"},
    }[dialect.format]
    adapter = FORMATS[dialect.format]
    question = ModelCall("m", ())
    call = adapter.read_request({**adapter.write_request(question), **own})

    applied = apply_dialect(call, dialect)

    body = adapter.write_request(applied.call)
    assert {name: body[name] for name in own} == own or "generationConfig" in own
    assert is_thinking(applied.call, dialect)
