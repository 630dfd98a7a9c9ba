from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.adapters.openai_chat.reply import read_reply
from probes.errors import WireError
from probes.messages import (
    Breakage,
    BrokenCall,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)

ARGUMENTS = "$.choices[0].message.tool_calls[0].function.arguments"


def body(message: dict[str, Any], finish: str | None = "tool_calls", **extra: Any) -> Any:
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **extra}


def body_with_call(arguments: Any, finish: str = "tool_calls", **over: Any) -> Any:
    function = {"name": "f", "arguments": arguments}
    return body(
        {"tool_calls": [{"id": "c1", "type": "function", "function": function, **over}]}, finish
    )


def deviations(reply: Reply) -> list[tuple[str, str]]:
    return [(item.name, item.path) for item in reply.deviations]


def test_a_canonical_reply_is_read_whole() -> None:
    """Text, reasoning, call, stop, usage and fingerprint, and no deviation."""
    message = {
        "content": "Sure.",
        "reasoning_content": "Hm.",
        "tool_calls": body_with_call('{"a": 1}')["choices"][0]["message"]["tool_calls"],
    }
    usage = {"prompt_tokens": 9, "completion_tokens": 7}
    wire = body(message, usage=usage, model="m-2026", system_fingerprint="fp_1")

    assert read_reply(wire) == Reply(
        parts=(
            Reasoning("Hm.", ReasoningKind.FIELD, "reasoning_content"),
            Text("Sure."),
            ToolCall("c1", "f", {"a": 1}, "openai", '{"a": 1}'),
        ),
        stop=Stop.TOOL_CALLS,
        usage=Usage(9, 7),
        model="m-2026",
        fingerprint="fp_1",
        stop_raw="tool_calls",
        raw=wire,
    )


def test_an_empty_arguments_string_is_an_empty_object() -> None:
    """Vendors send it for tools without parameters; it is no deviation."""
    reply = read_reply(body_with_call(""))

    assert reply.calls == (ToolCall("c1", "f", {}, "openai", ""),)
    assert reply.deviations == ()


def test_arguments_as_an_object_are_kept_and_named() -> None:
    """Unencoded arguments of a relay are read and reported."""
    reply = read_reply(body_with_call({"a": "é"}))

    assert reply.calls == (ToolCall("c1", "f", {"a": "é"}, "openai", '{"a": "é"}'),)
    assert deviations(reply) == [("arguments_object", ARGUMENTS)]


def test_unreadable_arguments_are_a_broken_call() -> None:
    """Text that is not JSON never makes a call."""
    reply = read_reply(body_with_call('{"a": '))

    assert reply.calls == ()
    assert [(b.kind, b.name, b.raw) for b in reply.broken] == [
        (Breakage.INVALID_JSON, "f", '{"a": ')
    ]


def test_a_call_at_the_token_limit_is_never_executable() -> None:
    """Even if its JSON is complete, the limit may have cut it."""
    reply = read_reply(body_with_call('{"a": 1}', "length"))

    error = "The call was cut off by the token limit."
    cut = BrokenCall('{"a": 1}', error, Breakage.TRUNCATED_CALL, "f", "c1", ARGUMENTS, "openai")
    assert reply.stop is Stop.LENGTH
    assert reply.parts == (cut,)


def test_a_legacy_function_call_is_read_and_named() -> None:
    """Some relays still send the field that preceded tool_calls."""
    message = {"content": None, "function_call": {"name": "f", "arguments": "{}"}}

    reply = read_reply(body(message, "function_call"))

    assert [(call.name, call.input) for call in reply.calls] == [("f", {})]
    assert deviations(reply) == [
        ("legacy_function_call", "$.choices[0].message.function_call"),
    ]


def test_a_missing_id_is_minted_the_same_each_time() -> None:
    """Results must be paired, so a call without an id gets a stable one."""
    first, second = (
        read_reply(body_with_call("{}", id="")),
        read_reply(body_with_call("{}", id=None)),
    )

    assert first.calls[0].id.startswith("call_")
    assert len(first.calls[0].id) == len("call_") + 24
    assert first.calls == second.calls
    assert deviations(first) == [("missing_id", "$.choices[0].message.tool_calls[0].id")]


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        (body_with_call("{}", "stop"), "stop_with_calls"),
        (body_with_call('{"a": 1, "a": 2}'), "duplicate_key"),
        (body_with_call(None), "arguments_null"),
        (body_with_call("{}", type=None), "call_type"),
        (body({"content": "x"}), "tool_calls_missing"),
        (body({"content": "x"}, None), "unknown_finish_reason"),
        (body({"content": [{"type": "text", "text": "x"}]}, "stop"), "content_parts"),
    ],
)
def test_what_bends_the_format_is_named(wire: Any, name: str) -> None:
    """A readable reply that deviates from the format is reported with its path."""
    assert [item.name for item in read_reply(wire).deviations] == [name]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ([], "$"),
        ({}, "$.choices"),
        ({"choices": []}, "$.choices"),
        ({"choices": "none"}, "$.choices"),
        ({"choices": [None]}, "$.choices[0]"),
        ({"choices": [{"finish_reason": "stop"}]}, "$.choices[0].message"),
        (body({"content": 5}), "$.choices[0].message.content"),
        (body({"tool_calls": {}}), "$.choices[0].message.tool_calls"),
        (body({"tool_calls": [5]}), "$.choices[0].message.tool_calls[0]"),
        (body({"tool_calls": [{"id": "c"}]}), "$.choices[0].message.tool_calls[0].function"),
        (body({"tool_calls": [{}] * 65}), "$.choices[0].message.tool_calls"),
    ],
)
def test_what_breaks_the_format_is_located(wire: Any, path: str) -> None:
    """An unreadable reply is a WireError with the path."""
    with pytest.raises(WireError) as caught:
        read_reply(wire)

    assert caught.value.at == path


@pytest.mark.parametrize("tokens", [-1, True, "9", 10**400, 1.5, None])
def test_token_counts_that_cannot_be_are_unknown(tokens: Any) -> None:
    """An invalid count never reaches the database."""
    wire = body({"content": "x"}, "stop", usage={"prompt_tokens": tokens, "completion_tokens": 1})

    assert read_reply(wire).usage == Usage(None, 1)


NAMES = st.sampled_from(
    ["choices", "message", "content", "tool_calls", "function", "name", "arguments", "id", "type",
     "finish_reason", "usage", "function_call", "reasoning"]
)  # fmt: skip
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
)


@given(st.dictionaries(NAMES, SHAPES) | st.builds(body, st.dictionaries(NAMES, SHAPES)))
def test_any_json_is_a_reply_or_a_wire_error(wire: Any) -> None:
    """No answer makes the adapter fail in any other way."""
    located = ""
    try:
        calls = read_reply(wire).calls
    except WireError as exc:
        calls, located = (), exc.at

    assert located.startswith("$") or json.dumps([call.input for call in calls])
