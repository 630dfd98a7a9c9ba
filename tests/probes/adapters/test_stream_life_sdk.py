"""The official SDKs read our streams with heartbeats in them, and raise on our errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest
from google import genai
from google.genai import errors, types

from probes.adapters import FORMATS
from probes.events import ReplyEnded, ReplyHead
from probes.messages import ErrorKind, Reply, ReplyError, Stop, Text, ToolCall, Usage
from probes.streams.assembler import reply_events
from tests.probes.adapters.loopback import Loopback

REPLY = Reply(
    (Text("Hello."), ToolCall("c1", "f", {"a": 1}, "", '{"a": 1}')),
    Stop.TOOL_CALLS,
    Usage(9, 7),
    id="upstream",
    model="other",
)
HEAD = ReplyHead("reply_1", "m", created=1_800_000_000, input_tokens=5)
ASK: Any = [{"role": "user", "content": "Hi"}]
MEDIA_TYPES = {"ollama": "application/x-ndjson"}


def beaten_stream(format: str, reply: Reply) -> Iterator[bytes]:
    """A stream with a heartbeat before, between and after all of its events."""
    writer = FORMATS[format].write_stream(HEAD)
    yield writer.heartbeat()
    for event in reply_events(reply):
        yield writer.write(event)
        yield writer.heartbeat()


def failed_stream(format: str, kind: ErrorKind, parts: tuple[Text, ...] = ()) -> Iterator[bytes]:
    writer = FORMATS[format].write_stream(HEAD)
    yield writer.heartbeat()
    *begun, _ = reply_events(Reply(parts, Stop.ERROR))
    yield from map(writer.write, begun)
    yield writer.write(ReplyEnded(Reply(parts, Stop.ERROR, error=ReplyError(kind, "Oh dear"))))


# What each SDK makes of a stream: text, the call's arguments, id and model.


def read_anthropic(url: str) -> tuple[Any, ...]:
    with (
        anthropic.Anthropic(base_url=url, api_key="k", max_retries=0) as sdk,
        sdk.messages.stream(model="m", max_tokens=5, messages=ASK) as stream,
    ):
        message = stream.get_final_message()
    text, call = message.content
    assert isinstance(text, anthropic.types.TextBlock)
    assert isinstance(call, anthropic.types.ToolUseBlock)
    return text.text, call.input, message.id, message.model


def read_chat(url: str) -> tuple[Any, ...]:
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as sdk,
        sdk.chat.completions.stream(model="m", messages=ASK) as stream,
    ):
        answer = stream.get_final_completion()
    message = answer.choices[0].message
    assert message.tool_calls is not None
    return (
        message.content,
        json.loads(message.tool_calls[0].function.arguments),
        answer.id,
        answer.model,
    )


def read_responses(url: str) -> tuple[Any, ...]:
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as sdk,
        sdk.responses.stream(model="m", input="Hi") as stream,
    ):
        answer = stream.get_final_response()
    call: Any = answer.output[1]
    return answer.output_text, json.loads(call.arguments), answer.id, answer.model


def read_gemini(url: str) -> tuple[Any, ...]:
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    sdk = genai.Client(api_key="k", http_options=options)
    chunks = list(sdk.models.generate_content_stream(model="m", contents="Hi"))
    sdk.close()
    parts: list[Any] = [part for chunk in chunks for part in chunk.parts or []]
    text = "".join(part.text or "" for part in parts)
    (call,) = [part.function_call for part in parts if part.function_call]
    return text, call.args, chunks[0].response_id, chunks[0].model_version


def read_ollama(url: str) -> tuple[Any, ...]:
    client = ollama.Client(host=url)
    lines = list(client.chat("m", ASK, stream=True))
    client._client.close()
    calls: list[Any] = [call for line in lines for call in line.message.tool_calls or []]
    text = "".join(line.message.content or "" for line in lines)
    return text, calls[0].function.arguments, "reply_1", lines[0].model


SDKS: dict[str, Callable[[str], tuple[Any, ...]]] = {
    "anthropic": read_anthropic,
    "openai": read_chat,
    "openai_responses": read_responses,
    "gemini": read_gemini,
    "ollama": read_ollama,
}


@pytest.mark.parametrize("format", sorted(SDKS))
def test_the_sdk_reads_a_stream_with_heartbeats(format: str, loopback: Loopback) -> None:
    """Its own accumulator ends with the answer, under the id and the model of the client."""
    media_type = MEDIA_TYPES.get(format, "text/event-stream")
    loopback.answer_stream(beaten_stream(format, REPLY), media_type)

    assert SDKS[format](loopback.url) == ("Hello.", {"a": 1}, "reply_1", "m")


def raised(format: str, url: str) -> Exception:
    kinds = (
        anthropic.APIError,
        openai.APIError,
        errors.APIError,
        ollama.ResponseError,
        RuntimeError,
    )
    with pytest.raises(kinds) as caught:
        SDKS[format](url)
    error: Exception = caught.value
    return error


@pytest.mark.parametrize("parts", [(), (Text("half"),)], ids=["first", "in the middle"])
@pytest.mark.parametrize("format", ["anthropic", "gemini", "ollama", "openai"])
def test_the_sdk_raises_on_an_error_in_the_stream(
    format: str, parts: tuple[Text, ...], loopback: Loopback
) -> None:
    """As the first thing after a heartbeat, and in the middle of an answer."""
    media_type = MEDIA_TYPES.get(format, "text/event-stream")
    loopback.answer_stream(failed_stream(format, ErrorKind.OVERLOADED, parts), media_type)

    error: Any = raised(format, loopback.url)

    assert "Oh dear" in str(error)
    if format == "anthropic":
        assert error.body["error"]["type"] == "overloaded_error"
    if format == "openai":
        assert error.code == "overloaded"
    if format == "gemini":
        assert (error.code, error.status) == (503, "UNAVAILABLE")


def test_the_sdk_sees_a_failed_response(loopback: Loopback) -> None:
    """Codex retries `server_error`; the SDK hands out the last event with it."""
    loopback.answer_stream(failed_stream("openai_responses", ErrorKind.OVERLOADED))

    with openai.OpenAI(base_url=f"{loopback.url}/v1", api_key="k", max_retries=0) as sdk:
        events = list(sdk.responses.create(model="m", input="Hi", stream=True))

    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.failed",
    ]
    failed: Any = events[-1]
    assert failed.response.error.code == "server_error"
    assert failed.response.id == "reply_1"
