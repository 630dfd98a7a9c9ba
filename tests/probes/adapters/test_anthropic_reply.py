from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from probes.adapters.anthropic.adapter import AnthropicAdapter
from probes.adapters.base import ErrorBody
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
from tests.probes.adapters.anthropic_bodies import USE, message, messages
from tests.probes.adapters.wire_bodies import deviation_names

ADAPTER = AnthropicAdapter()


def test_an_answer_is_read_in_block_order() -> None:
    """Thinking, text and calls become parts in their order; other fields are kept."""
    thinking = {"type": "thinking", "thinking": "t", "signature": "S=="}
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    usage = {
        "input_tokens": 9,
        "output_tokens": 7,
        "cache_read_input_tokens": 3,
        "output_tokens_details": {"thinking_tokens": 2},
    }
    body = message(
        thinking, {"type": "text", "text": "hi"}, search, USE, stop="tool_use", usage=usage
    )

    reply = ADAPTER.read_reply(body)

    assert reply.parts[0] == Reasoning("t", ReasoningKind.BLOCK, thinking)
    assert reply.parts[1] == Text("hi")
    assert reply.calls == (ToolCall("toolu_1", "f", {"a": 1}, "anthropic", '{"a": 1}'),)
    assert (reply.stop, reply.stop_raw, reply.id, reply.model) == (
        Stop.TOOL_CALLS,
        "tool_use",
        "msg_1",
        "m",
    )
    assert reply.usage == Usage(12, 7, 2, 3)
    assert reply.deviations == ()
    assert ADAPTER.write_reply(reply) == body


def test_cached_tokens_are_tokens_of_the_prompt() -> None:
    """The format counts what a cache held or took apart; input_tokens is the whole prompt."""
    usage = {
        "input_tokens": 1,
        "output_tokens": 7,
        "cache_read_input_tokens": 120,
        "cache_creation_input_tokens": 30,
    }
    body = message({"type": "text", "text": "hi"}, stop="end_turn", usage=usage)

    reply = ADAPTER.read_reply(body)

    assert reply.usage == Usage(151, 7, None, 120)
    assert ADAPTER.write_reply(reply)["usage"] == usage


@pytest.mark.parametrize("field", ["cache_read_input_tokens", "cache_creation_input_tokens"])
@pytest.mark.parametrize("value", [None, "many", -1, True])
def test_cached_tokens_that_are_no_count_count_nothing(field: str, value: Any) -> None:
    """Some servers send null; the prompt is then what was not cached."""
    usage = {"input_tokens": 9, "output_tokens": 7, field: value}

    reply = ADAPTER.read_reply(message({"type": "text", "text": "hi"}, usage=usage))

    assert reply.usage.input_tokens == 9


def test_a_prompt_of_another_format_is_written_without_what_was_cached() -> None:
    """Clients of this format add the counts, so their sum is the prompt."""
    reply = Reply((Text("hi"),), Stop.END, Usage(100, 7, None, 80))

    assert ADAPTER.write_reply(reply)["usage"] == {
        "input_tokens": 20,
        "output_tokens": 7,
        "cache_read_input_tokens": 80,
    }


def test_the_last_call_of_an_answer_at_the_token_limit_is_not_a_call() -> None:
    """The limit cut the last call, even if its JSON looks complete."""
    reply = ADAPTER.read_reply(message(USE, USE | {"id": "toolu_2"}, stop="max_tokens"))

    assert [call.id for call in reply.calls] == ["toolu_1"]
    assert reply.broken[0].kind is Breakage.TRUNCATED_CALL
    assert reply.stop is Stop.LENGTH


def test_a_call_before_the_text_that_the_limit_cut_is_whole() -> None:
    """Only the last part was cut."""
    reply = ADAPTER.read_reply(message(USE, {"type": "text", "text": "x"}, stop="max_tokens"))

    assert len(reply.calls) == 1


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("max_tokens", Stop.LENGTH),
        ("model_context_window_exceeded", Stop.LENGTH),
        ("pause_turn", Stop.PAUSE),
        ("refusal", Stop.REFUSAL),
    ],
)
def test_a_stop_reason_comes_back_as_the_same_word(reason: str, stop: Stop) -> None:
    """Two reasons with the same meaning are not confused on the way back."""
    reply = ADAPTER.read_reply(message({"type": "text", "text": "x"}, stop=reason))

    assert reply.stop is stop
    assert ADAPTER.write_reply(reply)["stop_reason"] == reason


@pytest.mark.parametrize(
    ("blocks", "reason", "stop", "deviation"),
    [
        ([USE], "end_turn", Stop.TOOL_CALLS, "stop_with_calls"),
        ([], "tool_use", Stop.END, "tool_calls_missing"),
        ([USE], None, Stop.TOOL_CALLS, "missing_stop_reason"),
        ([], None, Stop.END, "missing_stop_reason"),
        ([], "surprise", Stop.OTHER, "unknown_stop_reason"),
        ([USE, USE], "tool_use", Stop.TOOL_CALLS, "duplicate_id"),
        ([USE | {"id": ""}], "tool_use", Stop.TOOL_CALLS, "missing_id"),
        ([USE | {"input": None}], "tool_use", Stop.TOOL_CALLS, "arguments_null"),
        ([USE | {"input": '{"a":1}'}], "tool_use", Stop.TOOL_CALLS, "arguments_string"),
    ],
)
def test_a_bent_answer_is_read_and_named(
    blocks: list[Any], reason: str | None, stop: Stop, deviation: str
) -> None:
    """Deviations of compatible servers are read as far as possible, and reported."""
    reply = ADAPTER.read_reply(message(*blocks, stop=reason))

    assert reply.stop is stop
    assert deviation_names(reply) == [deviation]


def test_z62_progress_in_empty_thinking_blocks_is_read_by_type() -> None:
    """Blocks without text are still reasoning; the type decides."""
    empty = {"type": "thinking", "thinking": "", "signature": "S=="}
    body = message(empty, {"type": "text", "text": "done"}, empty, USE, stop="tool_use")

    reply = ADAPTER.read_reply(body)

    kinds = [part.kind for part in reply.parts if isinstance(part, Reasoning)]
    assert kinds == [ReasoningKind.BLOCK] * 2
    assert (reply.text, len(reply.calls)) == ("done", 1)


def test_z36_markup_in_a_text_block_stays_text() -> None:
    """A call that leaked as text is kept verbatim for the text parsers."""
    leaked = '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>'

    reply = ADAPTER.read_reply(message({"type": "text", "text": leaked}))

    assert reply.parts == (Text(leaked),)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (None, "$"),
        ({}, "$.content"),
        (message("x"), "$.content[0]"),
        (message({"type": "text"}), "$.content[0].text"),
        (message({"type": "tool_use", "id": "a"}), "$.content[0].name"),
    ],
)
def test_an_answer_that_breaks_the_format_is_an_error_with_its_path(body: Any, at: str) -> None:
    """An invalid format raises an error, unlike faults of the model."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_reply(body)

    assert caught.value.at == at


def test_a_broken_call_is_never_written_for_a_client() -> None:
    """Without a complete call the stop reason does not ask the client to run one."""
    reply = Reply((Text("x"), BrokenCall("{", "no JSON", name="f")), Stop.TOOL_CALLS)

    body = ADAPTER.write_reply(reply)

    assert body["content"] == [{"type": "text", "text": "x"}]
    assert body["stop_reason"] == "end_turn"


def test_reasoning_of_another_format_is_shown_without_a_signature() -> None:
    """The client sees the reasoning, without an invented signature."""
    reply = Reply((Reasoning("hm", ReasoningKind.FIELD, "reasoning_content"),), Stop.END)

    block = {"type": "thinking", "thinking": "hm", "signature": ""}
    assert ADAPTER.write_reply(reply)["content"] == [block]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            ErrorBody("busy", "overloaded_error"),
        ),
        (
            {"base_resp": {"status_code": 2013, "status_msg": "invalid params"}},
            ErrorBody("invalid params", "2013"),
        ),
        (message(base_resp={"status_code": 0, "status_msg": ""}), None),
        ({"error": "no"}, ErrorBody("no")),
        ({"detail": "Not Found"}, ErrorBody("Not Found")),
        (message(), None),
        ([], None),
        (None, None),
    ],
)
def test_an_error_is_found_in_its_envelope(body: Any, error: ErrorBody | None) -> None:
    """Vendors of this format use several envelopes, one of them inside a 200."""
    assert ADAPTER.read_error(body) == error


def test_an_error_is_written_in_the_formats_envelope() -> None:
    """Our own refusals look like the vendor's."""
    body = ADAPTER.write_error(429, "slow down")

    error = {"type": "rate_limit_error", "message": "slow down"}
    assert body == {"type": "error", "error": error}
    assert ADAPTER.read_error(body) == ErrorBody("slow down", "rate_limit_error")


@given(messages())
def test_an_answer_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A client gets the endpoint's answer, unknown fields included."""
    reply = ADAPTER.read_reply(body)

    assert ADAPTER.write_reply(reply) == body
    assert reply.deviations == ()
    assert ADAPTER.losses(reply) == []
