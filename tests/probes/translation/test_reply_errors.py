"""An error inside an answer keeps its meaning on the way to a client of another format."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from probes.adapters import FORMATS
from probes.adapters.base import write_event_stream
from probes.adapters.reply_errors import STATUSES, read_reply_error
from probes.messages import ErrorKind, Reply, ReplyError, Stop, Text
from probes.streams.assembler import reply_events
from tests.probes.adapters.wire_bodies import read_stream

PAIRS = list(product(sorted(FORMATS), repeat=2))
OPENAI_OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 "
    "tokens."
)
PROMPT_LENGTHS = {
    "anthropic": "prompt is too long: 9000 tokens > 8192 maximum",
    "openai": OPENAI_OVERFLOW,
    "openai_responses": OPENAI_OVERFLOW,
    "gemini": "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
}
# As endpoints send them inside a stream.
RECEIVED: list[tuple[str, bytes, ErrorKind]] = [
    (
        "anthropic",
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Oh"}}',
        ErrorKind.OVERLOADED,
    ),
    (
        "anthropic",
        b'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Oh"}}',
        ErrorKind.RATE_LIMIT,
    ),
    (
        "openai",
        b'data: {"error":{"message":"Slow","type":"rate_limit_error","code":null}}',
        ErrorKind.RATE_LIMIT,
    ),
    ("openai", b'data: {"error":{"message":"Busy","code":503}}', ErrorKind.OVERLOADED),
    (
        "openai",
        b'data: {"error":{"message":"Too long","code":"context_length_exceeded"}}',
        ErrorKind.CONTEXT_OVERFLOW,
    ),
    (
        "openai_responses",
        b'event: error\ndata: {"type":"error","code":"server_is_overloaded","message":"Busy"}',
        ErrorKind.OVERLOADED,
    ),
    (
        "openai_responses",
        b'event: response.failed\ndata: {"type":"response.failed","response":{"status":"failed",'
        b'"output":[],"error":{"code":"rate_limit_exceeded","message":"Slow"}}}',
        ErrorKind.RATE_LIMIT,
    ),
    (
        "gemini",
        b'data: {"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}',
        ErrorKind.OVERLOADED,
    ),
    (
        "gemini",
        b'data: {"error":{"code":429,"message":"Slow","status":"RESOURCE_EXHAUSTED"}}',
        ErrorKind.RATE_LIMIT,
    ),
    ("ollama", b'{"error":"server busy, please try again"}', ErrorKind.OVERLOADED),
    ("ollama", b'{"error":"unexpected EOF"}', ErrorKind.SERVER),
]


def failed(error: ReplyError) -> Reply:
    return Reply((Text("half"),), Stop.ERROR, id="r", model="m", error=error)


def streamed(format: str, reply: Reply) -> bytes:
    return b"".join(write_event_stream(FORMATS[format], reply_events(reply)))


@pytest.mark.parametrize(("format", "data", "kind"), RECEIVED)
def test_an_error_in_a_stream_has_a_kind(format: str, data: bytes, kind: ErrorKind) -> None:
    """Each vendor's word, and for Ollama the text, says what a client can do."""
    reply = read_stream(FORMATS[format], data + b"\n\n")

    assert reply.stop is Stop.ERROR
    assert reply.error is not None
    assert reply.error.kind is kind


@pytest.mark.parametrize("kind", sorted(ErrorKind))
@pytest.mark.parametrize(("client", "endpoint"), PAIRS)
def test_the_kind_of_an_error_survives_every_pair(
    client: str, endpoint: str, kind: ErrorKind
) -> None:
    """Retry stays retry, and give up stays give up."""
    received = read_stream(FORMATS[endpoint], streamed(endpoint, failed(ReplyError(kind, "Oh"))))

    seen = read_stream(FORMATS[client], streamed(client, received))

    assert seen.stop is Stop.ERROR
    assert seen.error is not None
    assert kind_class(seen.error.kind) == kind_class(kind)
    if "openai_responses" not in (client, endpoint) and kind is not ErrorKind.QUOTA:
        assert seen.error.kind is kind
    assert "Oh" in seen.error.message


def kind_class(kind: ErrorKind) -> str:
    """What a client does; the Responses API has no more words than these."""
    transient = {
        ErrorKind.OVERLOADED,
        ErrorKind.TIMEOUT,
        ErrorKind.SERVER,
        # Codex retries these five times and then shows the message.
        ErrorKind.AUTHENTICATION,
        ErrorKind.PERMISSION,
        ErrorKind.NOT_FOUND,
        ErrorKind.QUOTA,
    }
    return "other" if kind in transient else str(kind)


def test_codex_is_not_told_to_give_up_when_the_endpoint_is_overloaded() -> None:
    """`server_is_overloaded` is fatal to it; also if a Responses endpoint itself says so."""
    data = (
        b'event: error\ndata: {"type":"error","code":"server_is_overloaded","message":"Busy"}\n\n'
    )
    reply = read_stream(FORMATS["openai_responses"], data)

    for sent in (reply, failed(ReplyError(ErrorKind.OVERLOADED, "Busy"))):
        written = streamed("openai_responses", sent)
        assert b"server_is_overloaded" not in written
        assert b'"code": "server_error"' in written


@pytest.mark.parametrize(("source", "target"), list(product(PROMPT_LENGTHS, repeat=2)))
def test_an_overflow_is_said_in_the_clients_own_phrase(source: str, target: str) -> None:
    """Agents compact their prompt when they read it, with the figures."""
    error = read_reply_error({"type": "invalid_request_error", "message": PROMPT_LENGTHS[source]})

    written = json.dumps(FORMATS[target].write_failure(error))

    assert error.kind is ErrorKind.CONTEXT_OVERFLOW
    assert PROMPT_LENGTHS[target] in written


def test_an_overflow_without_figures_still_has_the_words() -> None:
    """Claude Code looks for the beginning of the phrase."""
    error = ReplyError(ErrorKind.CONTEXT_OVERFLOW, "Too many tokens.")

    assert "prompt is too long: Too many tokens." in json.dumps(
        FORMATS["anthropic"].write_failure(error)
    )


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        ({"message": "Please try again in 1.5s.", "code": "rate_limit_exceeded"}, 1.5),
        ({"message": "Please try again in 20ms.", "code": "rate_limit_exceeded"}, 0.02),
        ({"code": 429, "message": "Slow", "details": [{"retryDelay": "34s"}]}, 34),
        ({"code": 429, "message": "Slow", "details": [{"retryDelay": "soon"}, 5]}, None),
        ({"message": "Please try again in 999999m."}, 86400),
        ("slow down", None),
        ({}, None),
    ],
)
def test_the_time_to_wait_is_read(error: Any, seconds: float | None) -> None:
    """From OpenAI's sentence or Gemini's field, within bounds."""
    assert read_reply_error(error).retry_after == (
        None if seconds is None else pytest.approx(seconds)
    )


def test_the_time_to_wait_is_written() -> None:
    """Where Codex and the Gemini CLI look for it."""
    error = ReplyError(ErrorKind.RATE_LIMIT, "Slow.", retry_after=7)
    gemini: Any = FORMATS["gemini"].write_failure(error)
    responses: Any = FORMATS["openai_responses"].write_reply(failed(error))

    assert gemini["error"]["details"][0]["retryDelay"] == "7s"
    assert responses["error"]["message"] == "Slow. Please try again in 7s."


def test_a_chat_stream_ends_after_its_error() -> None:
    """Clients wait for the mark."""
    data = streamed("openai", failed(ReplyError(ErrorKind.SERVER, "Oh")))

    assert data.endswith(b"\n\ndata: [DONE]\n\n")
    assert b'finish_reason": "' not in data


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_an_answer_that_broke_off_is_an_error_to_every_client(format: str) -> None:
    """Without an error of the endpoint's, and never with a reason to finish."""
    cut = replace(failed(ReplyError(ErrorKind.SERVER, "")), error=None)

    seen = read_stream(FORMATS[format], streamed(format, cut))

    assert seen.stop is Stop.ERROR
    assert seen.error is not None
    assert "broke off" in seen.error.message


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_an_error_goes_back_in_its_own_format_as_it_came(format: str) -> None:
    """Fields that only the vendor knows are kept, unless they would make a client give up."""
    for name, data, _ in RECEIVED:
        if name == format and b"server_is_overloaded" not in data:
            reply = read_stream(FORMATS[format], data + b"\n\n")
            again = read_stream(FORMATS[format], streamed(format, reply))
            assert again.error == reply.error


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_every_kind_has_a_body_that_the_format_reads_as_an_error(format: str) -> None:
    """For an answer that is nothing but the error, with its status."""
    for kind in ErrorKind:
        body = FORMATS[format].write_failure(ReplyError(kind, "Oh"))
        error = FORMATS[format].read_error(json.loads(json.dumps(body)))
        assert error is not None
        assert "Oh" in error.message
        assert 400 <= STATUSES[kind] < 600


def test_whole_answers_that_failed_have_an_error() -> None:
    """In the formats whose whole answer can say so."""
    failure = {"code": "server_error", "message": "Oh"}
    chat: Any = {
        "choices": [{"index": 0, "message": {"content": ""}, "finish_reason": "error"}],
        "error": {"message": "Oh", "code": 529},
    }
    bodies: dict[str, Any] = {
        "openai_responses": {"status": "failed", "output": [], "error": failure},
        "openai": chat,
        "ollama": {"error": "overloaded: Oh"},
    }

    kinds = {name: FORMATS[name].read_reply(body).error for name, body in bodies.items()}

    assert {name: error.kind for name, error in kinds.items() if error is not None} == {
        "openai_responses": ErrorKind.SERVER,
        "openai": ErrorKind.OVERLOADED,
        "ollama": ErrorKind.OVERLOADED,
    }
