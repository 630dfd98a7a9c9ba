from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from probes.messages import Breakage, Reply, Role, Stop, ToolResult, Turn
from tests.simulators.conversation import FIRST, PROMPT, run_tool
from tests.simulators.stream_client import (
    ANTHROPIC,
    GEMINI,
    OLLAMA,
    PROSE,
    RESPONSES,
    StreamedAnswer,
    read_calls,
    user_turn,
)


def continue_with_results(reply: Reply) -> tuple[Turn, ...]:
    """The question, the answer as it was read, and the results of its calls."""
    results = tuple(
        ToolResult(call.id, run_tool(call.name, call.input)[0], name=call.name)
        for call in reply.calls
    )
    return user_turn(PROMPT), reply.as_turn(), Turn(Role.TOOL, results)


# Anthropic.


def read_blocks(got: StreamedAnswer) -> list[dict[str, Any]]:
    return [body["content_block"] for body in got.bodies if body["type"] == "content_block_start"]


def read_block_deltas(got: StreamedAnswer) -> list[str]:
    return [b["delta"]["type"] for b in got.bodies if b["type"] == "content_block_delta"]


def test_input_in_start(vendor_url: str) -> None:
    """The start of a block contains the whole call."""
    got = ANTHROPIC.streamed(vendor_url, "input-in-start")

    inputs = [(b["name"], b["input"]) for b in read_blocks(got) if b["type"] == "tool_use"]
    assert inputs == FIRST
    assert "input_json_delta" not in read_block_deltas(got)
    assert "input_in_start" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_no_block_stop(vendor_url: str) -> None:
    """Blocks start and never stop."""
    got = ANTHROPIC.streamed(vendor_url, "no-block-stop")

    assert "content_block_stop" not in got.types
    assert got.types[-2:] == ["message_delta", "message_stop"]
    assert "missing_block_stop" in got.deviations
    assert read_calls(got.reply) == FIRST


def test_no_stop_reason(vendor_url: str) -> None:
    """message_delta has the usage but no stop reason."""
    got = ANTHROPIC.streamed(vendor_url, "no-stop-reason")

    [last] = [body for body in got.bodies if body["type"] == "message_delta"]
    assert last["delta"]["stop_reason"] is None
    assert last["usage"]["output_tokens"] > 0
    assert "missing_stop_reason" in got.deviations
    assert (read_calls(got.reply), got.reply.stop) == (FIRST, Stop.TOOL_CALLS)


def test_no_signature(vendor_url: str) -> None:
    """Thinking has no signature, and the server accepts it back unsigned."""
    got = ANTHROPIC.streamed(vendor_url, "no-signature")

    assert read_blocks(got)[0] == {"type": "thinking", "thinking": ""}
    assert "thinking_delta" in read_block_deltas(got)
    assert "signature_delta" not in read_block_deltas(got)
    assert read_calls(got.reply) == FIRST
    again = ANTHROPIC.streamed(vendor_url, "no-signature", *continue_with_results(got.reply))
    assert again.reply.stop in (Stop.END, Stop.TOOL_CALLS)


def test_without_the_fault_thinking_needs_its_signature(vendor_url: str) -> None:
    """A server that signs refuses unsigned thinking."""
    unsigned = ANTHROPIC.streamed(vendor_url, "no-signature").reply

    with pytest.raises(httpx.HTTPStatusError, match="400"):
        ANTHROPIC.streamed(vendor_url, "", *continue_with_results(unsigned))


def test_error_event(vendor_url: str) -> None:
    """An error event ends the stream; the status was 200."""
    got = ANTHROPIC.streamed(vendor_url, "error-event")

    assert got.types[0] == "message_start"
    assert got.data.count(b"event: error\n") == 1
    assert got.bodies[-1] == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
    }
    assert (got.reply.stop, "error_in_stream" in got.deviations) == (Stop.ERROR, True)


def test_unknown_events_of_messages(vendor_url: str) -> None:
    """Pings and an event with an unknown name do not disturb the reader."""
    got = ANTHROPIC.streamed(vendor_url, "unknown-events")

    assert {"ping", "message_progress"} <= set(got.types)
    assert got.types[-1] == "message_stop"
    assert "unknown_event" in got.deviations
    assert read_calls(got.reply) == FIRST


# Responses.


def test_no_completed(vendor_url: str) -> None:
    """The stream ends after the last item."""
    got = RESPONSES.streamed(vendor_url, "no-completed")

    assert got.types[-1] == "response.output_item.done"
    assert got.reply.stop is Stop.ERROR
    assert "broken_off" in got.deviations


def test_no_item_done(vendor_url: str) -> None:
    """Calls arrive as deltas that only the last event completes."""
    got = RESPONSES.streamed(vendor_url, "no-item-done")

    assert "response.function_call_arguments.delta" in got.types
    assert "response.function_call_arguments.done" not in got.types
    assert "response.output_item.done" not in got.types
    assert got.types[-1] == "response.completed"
    assert read_calls(got.reply) == FIRST


def test_arguments_in_item(vendor_url: str) -> None:
    """Only the finished item has arguments."""
    got = RESPONSES.streamed(vendor_url, "arguments-in-item")

    done = [body["item"] for body in got.bodies if body["type"] == "response.output_item.done"]
    assert [(item["name"], json.loads(item["arguments"])) for item in done] == FIRST
    assert not any(kind.startswith("response.function_call_arguments") for kind in got.types)
    assert got.bodies[-1]["response"]["output"] == []
    assert read_calls(got.reply) == FIRST


def test_response_failed(vendor_url: str) -> None:
    """response.failed ends the stream, with the id of its start."""
    got = RESPONSES.streamed(vendor_url, "response-failed")

    first, last = got.bodies[0]["response"], got.bodies[-1]["response"]
    assert got.types[-1] == "response.failed"
    assert (last["id"], last["status"]) == (first["id"], "failed")
    assert last["error"]["code"] == "server_error"
    assert got.reply.stop is Stop.ERROR


def test_unknown_events_of_responses(vendor_url: str) -> None:
    """An event with an unknown name has a sequence number like the others."""
    got = RESPONSES.streamed(vendor_url, "unknown-events")

    assert "response.progress.updated" in got.types
    assert [b["sequence_number"] for b in got.bodies] == list(range(len(got.bodies)))
    assert got.deviations == {"unknown_event"}
    assert read_calls(got.reply) == FIRST


# Gemini.


def read_parts(got: StreamedAnswer) -> list[dict[str, Any]]:
    contents = (body["candidates"][0].get("content", {}) for body in got.bodies)
    return [part for content in contents for part in content.get("parts", [])]


def read_reasons(got: StreamedAnswer) -> list[str | None]:
    return [body["candidates"][0].get("finishReason") for body in got.bodies]


def test_trailing_signature(vendor_url: str) -> None:
    """The signature is on an empty text after the calls, and is accepted there in a history."""
    got = GEMINI.streamed(vendor_url, "trailing-signature")

    *calls, last = read_parts(got)
    assert [set(part) for part in calls] == [{"functionCall"}] * 2
    assert last["text"] == ""
    assert last["thoughtSignature"]
    assert read_calls(got.reply) == FIRST
    again = GEMINI.streamed(vendor_url, "trailing-signature", *continue_with_results(got.reply))
    assert again.reply.stop in (Stop.END, Stop.TOOL_CALLS)


def test_a_trailing_signature_that_is_dropped_is_missed(vendor_url: str) -> None:
    """The rule about signatures still applies."""
    reply = GEMINI.streamed(vendor_url, "trailing-signature").reply
    question, answer, results = continue_with_results(reply)
    bare = Turn(answer.role, answer.calls)

    with pytest.raises(httpx.HTTPStatusError, match="400"):
        GEMINI.streamed(vendor_url, "trailing-signature", question, bare, results)


def test_no_finish_reason(vendor_url: str) -> None:
    """No chunk has a finish reason."""
    got = GEMINI.streamed(vendor_url, "no-finish-reason")

    assert set(read_reasons(got)) == {None}
    assert (got.reply.stop, "stream_cut_off" in got.deviations) == (Stop.ERROR, True)


def test_split_calls(vendor_url: str) -> None:
    """A call is sent as a name, arguments by path, and an empty call at the end."""
    got = GEMINI.streamed(vendor_url, "split-calls")

    calls = [part["functionCall"] for part in read_parts(got)]
    assert (calls[0]["name"], calls[0]["willContinue"]) == ("probe_echo", True)
    assert calls[1:4] == [
        {
            "partialArgs": [{"jsonPath": "$.message", "stringValue": 'naïve "amber" ☕'}],
            "willContinue": True,
        },
        {"partialArgs": [{"jsonPath": "$.tag", "stringValue": "beta"}], "willContinue": True},
        {},
    ]
    assert calls[5]["partialArgs"] == [{"jsonPath": "$.a", "numberValue": 3}]
    assert (read_calls(got.reply), got.reply.stop_raw) == ([], "STOP")
    assert {call.kind for call in got.reply.broken} == {Breakage.TRUNCATED_CALL}


def test_single_chunk(vendor_url: str) -> None:
    """One event contains the whole answer."""
    got = GEMINI.streamed(vendor_url, "single-chunk")

    assert len(got.bodies) == 1
    assert [set(part) - {"thoughtSignature"} for part in read_parts(got)] == [{"functionCall"}] * 2
    assert read_reasons(got) == ["STOP"]
    assert read_calls(got.reply) == FIRST


def test_malformed_finish(vendor_url: str) -> None:
    """Z14: only a finish reason for a malformed call; prose is unaffected."""
    got = GEMINI.streamed(vendor_url, "malformed-finish")

    assert read_parts(got) == []
    assert read_reasons(got) == ["MALFORMED_FUNCTION_CALL"]
    assert (read_calls(got.reply), got.reply.stop) == ([], Stop.MALFORMED_CALL)
    assert read_calls(GEMINI.whole(vendor_url, "malformed-finish")) == FIRST
    prose = GEMINI.streamed(vendor_url, "malformed-finish", user_turn(PROSE))
    assert read_reasons(prose)[-1] == "STOP"


def test_a_rewritten_stream_can_come_as_a_list(vendor_url: str) -> None:
    """Gemini without alt=sse sends one JSON list, changed like the events."""
    url = f"{vendor_url}/with/no-finish-reason/gemini/v1beta/models/sim-gemini-3"
    body = {"contents": [{"role": "user", "parts": [{"text": PROSE}]}]}

    answer = httpx.post(
        f"{url}:streamGenerateContent",
        json=body,
        headers={"x-goog-api-key": "sim-key"},
        trust_env=False,
    ).json()

    assert [chunk["candidates"][0].get("finishReason") for chunk in answer][-1] is None


# Ollama.


def read_tool_calls(got: StreamedAnswer) -> list[dict[str, Any]]:
    return [call for body in got.bodies for call in body["message"].get("tool_calls", [])]


def test_error_line(vendor_url: str) -> None:
    """Z45: a line has the server's own parse error, quoting the text it could not parse."""
    got = OLLAMA.streamed(vendor_url, "error-line")

    error = got.bodies[-1]["error"]
    assert error.startswith('error parsing tool call: raw=\'{"name": "probe_echo", ')
    assert error.endswith("', err=unexpected end of JSON input")
    assert (read_calls(got.reply), got.reply.stop) == ([], Stop.MALFORMED_CALL)
    assert read_calls(OLLAMA.whole(vendor_url, "error-line")) == FIRST
    assert OLLAMA.streamed(vendor_url, "error-line", user_turn(PROSE)).reply.stop is Stop.END


def test_no_done_line(vendor_url: str) -> None:
    """The calls arrive, and no line is marked as the last."""
    got = OLLAMA.streamed(vendor_url, "no-done-line")

    assert {body["done"] for body in got.bodies} == {False}
    assert len(read_tool_calls(got)) == 2
    assert (got.reply.stop, "stream_cut_off" in got.deviations) == (Stop.ERROR, True)


def test_calls_without_id(vendor_url: str) -> None:
    """Calls have only a name and arguments, as on older servers."""
    got = OLLAMA.streamed(vendor_url, "calls-without-id")

    assert [set(call) for call in read_tool_calls(got)] == [{"function"}] * 2
    assert [set(call["function"]) for call in read_tool_calls(got)] == [{"name", "arguments"}] * 2
    assert len({call.id for call in got.reply.calls}) == 2
    assert read_calls(got.reply) == FIRST


def test_blank_lines(vendor_url: str) -> None:
    """Every line is followed by an empty one."""
    got = OLLAMA.streamed(vendor_url, "blank-lines")

    assert got.data.count(b"}\n\n") == len(got.bodies)
    assert read_calls(got.reply) == FIRST
