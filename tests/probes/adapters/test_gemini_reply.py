from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from probes.adapters.base import ErrorBody
from probes.adapters.gemini.adapter import GeminiAdapter
from probes.errors import WireError
from probes.messages import (
    Breakage,
    BrokenCall,
    Opaque,
    Reasoning,
    ReasoningKind,
    Reply,
    Stop,
    Text,
    ToolCall,
    Usage,
)
from tests.probes.adapters.gemini_bodies import CALL, answer, answers
from tests.probes.adapters.wire_bodies import deviation_names

ADAPTER = GeminiAdapter()


def test_an_answer_is_read_part_by_part() -> None:
    """STOP is also sent for calls; thoughts, signatures and unknown parts are kept."""
    thought: Any = {"text": "hm", "thought": True}
    image = {"inlineData": {"data": "AA=="}}
    body = answer(thought, {"text": "hi"}, CALL | {"thoughtSignature": "U0lH"}, image)
    body["usageMetadata"] |= {"thoughtsTokenCount": 3, "cachedContentTokenCount": 2}

    reply = ADAPTER.read_reply(body)

    assert reply.parts == (
        Reasoning("hm", ReasoningKind.THOUGHT, thought),
        Text("hi"),
        ToolCall(
            "x1",
            "f",
            {"a": 1},
            "gemini",
            '{"a": 1}',
            extra={"gemini": {"thoughtSignature": "U0lH"}},
        ),
        Opaque("gemini", image),
    )
    assert (reply.stop, reply.stop_raw) == (Stop.TOOL_CALLS, "STOP")
    assert (reply.id, reply.model) == ("r1", "gemini-x")
    assert reply.usage == Usage(9, 7, 3, 2)
    assert reply.deviations == ()
    assert ADAPTER.write_reply(reply) == body


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_z14_a_call_that_the_endpoint_disowns_is_never_a_call(reason: str) -> None:
    """The turn is a failure, and a parsed call in it is not run."""
    body = answer(CALL, finish=reason)
    body["candidates"][0]["finishMessage"] = "Malformed function call: f("

    reply = ADAPTER.read_reply(body)

    assert reply.stop is Stop.MALFORMED_CALL
    assert reply.calls == ()
    assert [call.name for call in reply.broken] == ["f"]
    assert ADAPTER.write_reply(reply)["candidates"] == [
        {
            "content": {"role": "model", "parts": []},
            "finishReason": reason,
            "index": 0,
            "finishMessage": "Malformed function call: f(",
        }
    ]


def test_z14_an_empty_malformed_turn_is_not_an_end() -> None:
    """Usually such a turn has no parts at all."""
    candidate: Any = {"finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}

    reply = ADAPTER.read_reply({"candidates": [candidate]})

    assert (reply.parts, reply.stop) == ((), Stop.MALFORMED_CALL)


def test_a_missing_id_is_minted_and_not_sent_back() -> None:
    """Each call gets its own id in the values; the wire stays unchanged."""
    bare = {"functionCall": {"name": "f", "args": {}}}

    reply = ADAPTER.read_reply(answer(bare, bare))

    assert len({call.id for call in reply.calls}) == 2
    assert ADAPTER.write_reply(reply) == answer(bare, bare)


def test_minted_ids_differ_between_answers() -> None:
    """The same call in two answers of one conversation gets two ids."""
    bare = {"functionCall": {"name": "f", "args": {}}}

    one = ADAPTER.read_reply(answer(bare))
    two = ADAPTER.read_reply(answer(bare, responseId="r2"))

    assert one.calls[0].id != two.calls[0].id
    assert one.calls[0].id == ADAPTER.read_reply(answer(bare)).calls[0].id


def test_the_last_call_at_the_token_limit_is_not_a_call() -> None:
    """The limit cut the last call."""
    reply = ADAPTER.read_reply(answer(CALL, finish="MAX_TOKENS"))

    assert reply.calls == ()
    assert reply.broken[0].kind is Breakage.TRUNCATED_CALL


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ({"name": "f", "args": [1]}, Breakage.NOT_AN_OBJECT),
        ({"name": "f", "willContinue": True, "partialArgs": []}, Breakage.TRUNCATED_CALL),
    ],
)
def test_a_call_without_whole_arguments_is_broken(call: dict[str, Any], kind: Breakage) -> None:
    """Arguments that are no object, or arrive in pieces, do not make a call."""
    reply = ADAPTER.read_reply(answer({"functionCall": call}))

    assert reply.broken[0].kind is kind


def test_a_blocked_prompt_is_a_refusal() -> None:
    """There are no candidates, and the reason is in another field."""
    body: Any = {"promptFeedback": {"blockReason": "SAFETY"}, "responseId": "r"}

    reply = ADAPTER.read_reply(body)

    assert (reply.stop, reply.stop_raw, reply.parts) == (Stop.REFUSAL, "SAFETY", ())
    assert ADAPTER.write_reply(reply) == body


@pytest.mark.parametrize(
    ("finish", "stop", "deviations"),
    [
        ("STOP", Stop.END, []),
        ("SAFETY", Stop.REFUSAL, []),
        ("PROHIBITED_CONTENT", Stop.REFUSAL, []),
        ("MALFORMED_RESPONSE", Stop.OTHER, []),
        ("NEW_REASON", Stop.OTHER, ["unknown_finish_reason"]),
        (None, Stop.END, ["missing_finish_reason"]),
    ],
)
def test_finish_reasons(finish: str | None, stop: Stop, deviations: list[str]) -> None:
    """Every reason has its stop, and is written back as the same reason."""
    reply = ADAPTER.read_reply(answer({"text": "x"}, finish=finish))

    assert reply.stop is stop
    assert deviation_names(reply) == deviations
    candidates: Any = ADAPTER.write_reply(reply)["candidates"]
    assert candidates[0]["finishReason"] == (finish or "STOP")


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ([], "$"),
        ({}, "$.candidates"),
        ({"candidates": [1]}, "$.candidates[0]"),
        (answer(1), "$.candidates[0].content.parts[0]"),
        (answer({"functionCall": {}}), "$.candidates[0].content.parts[0].functionCall.name"),
    ],
)
def test_an_answer_that_breaks_the_format_is_an_error_with_its_path(body: Any, at: str) -> None:
    """An invalid format raises an error, unlike faults of the model."""
    with pytest.raises(WireError) as caught:
        ADAPTER.read_reply(body)

    assert caught.value.at == at


def test_a_broken_call_is_never_written_for_a_client() -> None:
    """A client never sees a call that must not run."""
    reply = Reply((BrokenCall("{", "no JSON", name="f"),), Stop.TOOL_CALLS)

    candidates: Any = ADAPTER.write_reply(reply)["candidates"]

    assert candidates[0]["content"]["parts"] == []


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}},
            ErrorBody("bad", "INVALID_ARGUMENT"),
        ),
        ([{"error": {"code": 429, "message": "slow"}}], ErrorBody("slow", "429")),
        (answer(), None),
        (None, None),
    ],
)
def test_an_error_is_found_in_its_envelope(body: Any, error: ErrorBody | None) -> None:
    """An object, or a list of one for a streaming request."""
    assert ADAPTER.read_error(body) == error


def test_an_error_is_written_in_the_formats_envelope() -> None:
    """Our own refusals look like the vendor's."""
    body = ADAPTER.write_error(429, "slow down")

    error = {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}
    assert body == {"error": error}


@given(answers())
def test_an_answer_survives_the_way_through_the_values(body: dict[str, Any]) -> None:
    """A client gets the endpoint's answer, unknown fields included."""
    reply = ADAPTER.read_reply(body)

    assert ADAPTER.write_reply(reply) == body
    assert reply.deviations == ()
    assert ADAPTER.losses(reply) == []
