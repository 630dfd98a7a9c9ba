"""The official SDK as the reference: it reads what we write, and we read what it sends."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from probes.adapters.base import write_event_stream
from probes.adapters.gemini.adapter import GeminiAdapter
from probes.messages import (
    Reasoning,
    ReasoningKind,
    Reply,
    Role,
    Stop,
    Text,
    ToolCall,
    ToolChoice,
    Usage,
)
from probes.streams.assembler import reply_events
from tests.probes.adapters.loopback import Loopback

with warnings.catch_warnings():
    # The SDK's source has an invalid escape, for which Python warns when it compiles it.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors, types

ADAPTER = GeminiAdapter()
SIGNED = {"gemini": {"thoughtSignature": "U0lH"}}
REPLY = Reply(
    parts=(
        Reasoning("hm", ReasoningKind.THOUGHT, {"text": "hm", "thought": True}),
        Text("Grüße 🌍"),
        ToolCall("x1", "f", {"a": [1, "ü"]}, "gemini", '{"a": [1, "ü"]}', extra=SIGNED),
        ToolCall("x2", "g", {}, "gemini", "{}"),
    ),
    stop=Stop.TOOL_CALLS,
    usage=Usage(9, 7, 3),
    id="r1",
    model="gemini-x",
)
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="f",
            description="does",
            parameters=types.Schema(
                type=types.Type.OBJECT, properties={"a": types.Schema(type=types.Type.INTEGER)}
            ),
        ),
        types.FunctionDeclaration(
            name="g", description="does", parameters_json_schema={"type": "object"}
        ),
    ]
)
MANUAL = types.AutomaticFunctionCallingConfig(disable=True)


@pytest.fixture
def sdk(loopback: Loopback) -> Iterator[genai.Client]:
    options = types.HttpOptions(base_url=loopback.url, api_version="v1beta")
    client = genai.Client(api_key="k", http_options=options)
    yield client
    client.close()


def ask(sdk: genai.Client, contents: Any = "go", **config: Any) -> Any:
    settings = types.GenerateContentConfig(
        tools=[TOOL], automatic_function_calling=MANUAL, **config
    )
    return sdk.models.generate_content(model="m", contents=contents, config=settings)


def summarise_parts(parts: Any) -> list[tuple[Any, ...]]:
    return [
        (
            part.text,
            part.thought,
            part.thought_signature,
            part.function_call and (part.function_call.id, part.function_call.args),
        )
        for part in parts
    ]


SUMMARY = [
    ("hm", True, None, None),
    ("Grüße 🌍", None, None, None),
    (None, None, b"SIG", ("x1", {"a": [1, "ü"]})),
    (None, None, None, ("x2", {})),
]


def test_the_sdk_reads_a_whole_answer(sdk: genai.Client, loopback: Loopback) -> None:
    """Thoughts, text, signature and parallel calls arrive as the SDK's own parts."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))

    response = ask(sdk)

    assert summarise_parts(response.candidates[0].content.parts) == SUMMARY
    assert response.candidates[0].finish_reason == "STOP"
    assert (response.response_id, response.model_version) == ("r1", "gemini-x")
    assert response.usage_metadata.thoughts_token_count == 3


def test_the_sdk_reads_our_stream(sdk: genai.Client, loopback: Loopback) -> None:
    """Chunk by chunk, the SDK gets the parts of the whole answer."""
    loopback.answer_stream(write_event_stream(ADAPTER, reply_events(REPLY)))

    chunks = list(sdk.models.generate_content_stream(model="m", contents="go"))

    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    assert summarise_parts(parts) == SUMMARY
    assert chunks[-1].response_id == "r1"
    assert f"{loopback.last.path}?{loopback.last.query}" == ADAPTER.stream_path.format(model="m")


def test_the_sdk_raises_when_our_stream_breaks_off(sdk: genai.Client, loopback: Loopback) -> None:
    """A failed answer does not look complete to a client."""
    loopback.answer_stream(
        write_event_stream(ADAPTER, reply_events(Reply((Text("half"),), Stop.ERROR)))
    )

    with pytest.raises(errors.APIError):
        list(sdk.models.generate_content_stream(model="m", contents="go"))


def test_the_sdk_reads_our_errors(sdk: genai.Client, loopback: Loopback) -> None:
    """Our errors carry the message where the SDK looks for it."""
    loopback.answer_json(ADAPTER.write_error(400, "no such tool"), status=400)

    with pytest.raises(errors.ClientError, match="no such tool"):
        ask(sdk)


def test_we_read_what_the_sdk_sends(sdk: genai.Client, loopback: Loopback) -> None:
    """A history with signed calls and an error result is read and written again."""
    loopback.answer_json(ADAPTER.write_reply(REPLY))
    content = ask(sdk).candidates[0].content
    results = [
        types.Part(
            function_response=types.FunctionResponse(id="x1", name="f", response={"result": "one"})
        ),
        types.Part(
            function_response=types.FunctionResponse(id="x2", name="g", response={"error": "no"})
        ),
    ]
    contents = [
        types.Content(role="user", parts=[types.Part(text="go")]),
        content,
        types.Content(role="user", parts=results),
    ]
    calling = types.FunctionCallingConfig(mode=types.FunctionCallingConfigMode.ANY)
    ask(
        sdk,
        contents,
        system_instruction="brief",
        max_output_tokens=5,
        temperature=0.5,
        tool_config=types.ToolConfig(function_calling_config=calling),
    )

    body = loopback.last.body
    call = ADAPTER.read_request(body)

    assert loopback.last.path == ADAPTER.path.format(model="m")
    assert loopback.last.headers["x-goog-api-key"] == "k"
    roles = [turn.role for turn in call.turns]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert call.turns[2].parts == REPLY.parts
    read_results = [(r.call_id, r.name, r.content, r.is_error) for r in call.turns[3].results]
    assert read_results == [("x1", "f", "one", False), ("x2", "g", "no", True)]
    assert call.tools[0].schema == {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert (call.max_tokens, call.tool_choice) == (5, ToolChoice("required"))
    # The SDK mixes both spellings of this field; the API accepts either.
    spelled = json.dumps(body).replace("parameters_json_schema", "parametersJsonSchema")
    assert ADAPTER.write_request(call) == json.loads(spelled)
