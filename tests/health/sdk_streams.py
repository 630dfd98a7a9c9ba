"""What the official SDK of each wire format makes of a streamed turn that owes two calls."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anthropic
import httpx
import httpx2
import ollama
import openai

from probes.target import Provider

with warnings.catch_warnings():
    # Its source has an invalid escape that Python warns about when it is first compiled.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import errors, types

SCHEMA: Any = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
NAMES = ("probe_add", "probe_multiply")
PROMPT = (
    "Make these two tool calls at the same time, both in one turn:\n"
    '1. probe_add with {"a": 1, "b": 2}\n2. probe_multiply with {"a": 3, "b": 4}'
)
ASK: Any = [{"role": "user", "content": PROMPT}]
EXPECTED = [("probe_add", {"a": 1, "b": 2}), ("probe_multiply", {"a": 3, "b": 4})]
FUNCTIONS: Any = [
    {"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in NAMES
]
# Errors of the SDKs and of their HTTP clients: the caller gets an exception.
CRASHES = (
    TypeError,
    ValueError,
    KeyError,
    AssertionError,
    RuntimeError,
    httpx.HTTPError,
    httpx2.HTTPError,
    openai.OpenAIError,
    anthropic.AnthropicError,
    errors.APIError,
    ollama.ResponseError,
)


def read_openai(url: str) -> str:
    client = openai.OpenAI(base_url=f"{url}/open/v1", api_key="sim-1", max_retries=0)
    with (
        client,
        client.chat.completions.stream(model="sim-steady", messages=ASK, tools=FUNCTIONS) as stream,
    ):
        for _ in stream:
            pass
        choice = stream.get_final_completion().choices[0]
    calls: Any = choice.message.tool_calls or []
    try:
        read = [(call.function.name, json.loads(call.function.arguments)) for call in calls]
    except (TypeError, ValueError):
        return "garbled"
    return judge(read, [call.id for call in calls], ends=choice.finish_reason == "tool_calls")


def read_anthropic(url: str) -> str:
    tools: Any = [{"name": name, "input_schema": SCHEMA} for name in NAMES]
    client = anthropic.Anthropic(base_url=f"{url}/anthropic", api_key="sim-1", max_retries=0)
    with (
        client,
        client.messages.stream(
            model="sim-steady", messages=ASK, tools=tools, max_tokens=500
        ) as stream,
    ):
        message = stream.get_final_message()
    calls: Any = [block for block in message.content if block.type == "tool_use"]
    read = [(call.name, call.input) for call in calls]
    return judge(read, [call.id for call in calls], ends=message.stop_reason == "tool_use")


def read_responses(url: str) -> str:
    tools: Any = [{"type": "function", "name": name, "parameters": SCHEMA} for name in NAMES]
    client = openai.OpenAI(base_url=f"{url}/responses/v1", api_key="sim-1", max_retries=0)
    with (
        client,
        client.responses.stream(model="sim-steady", input=PROMPT, tools=tools) as stream,
    ):
        response = stream.get_final_response()
    calls: Any = [item for item in response.output if item.type == "function_call"]
    try:
        read = [(call.name, json.loads(call.arguments)) for call in calls]
    except (TypeError, ValueError):
        return "garbled"
    return judge(read, [call.call_id for call in calls], ends=response.status == "completed")


def read_gemini(url: str) -> str:
    declarations: Any = [
        types.FunctionDeclaration(name=name, description="", parameters_json_schema=SCHEMA)
        for name in NAMES
    ]
    tools: Any = [types.Tool(function_declarations=declarations)]
    config = types.GenerateContentConfig(
        tools=tools,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    options = types.HttpOptions(base_url=f"{url}/gemini", api_version="v1beta")
    with genai.Client(api_key="sim-1", http_options=options) as client:
        chunks = list(
            client.models.generate_content_stream(
                model="sim-gemini-3", contents=PROMPT, config=config
            )
        )
    candidates = [candidate for chunk in chunks for candidate in chunk.candidates or []]
    contents = [candidate.content for candidate in candidates if candidate.content]
    parts = [part for content in contents for part in content.parts or []]
    calls = [part.function_call for part in parts if part.function_call]
    read, ids = [(call.name, dict(call.args or {})) for call in calls], [call.id for call in calls]
    reasons = [candidate.finish_reason for candidate in candidates if candidate.finish_reason]
    # Ids are optional in this format: without them results are paired by name and order.
    given = ids if any(ids) else range(len(read))
    return judge(read, given, ends=types.FinishReason.STOP in reasons)


def read_ollama(url: str) -> str:
    read: list[Any] = []
    done = False
    with ollama.Client(host=f"{url}/ollama") as client:
        for line in client.chat(model="sim-steady", messages=ASK, tools=FUNCTIONS, stream=True):
            calls = line.message.tool_calls or []
            read += [(call.function.name, dict(call.function.arguments)) for call in calls]
            done = done or bool(line.done)
    # This SDK drops ids: results are paired by order.
    return judge(read, range(len(read)), ends=done)


def judge(read: Sequence[object], ids: Sequence[object], *, ends: bool) -> str:
    """`fine`, or what an agent on top of the SDK would get wrong."""
    if list(read) != EXPECTED:
        return "lost"
    if len(set(ids)) < len(EXPECTED):
        return "ids"
    return "fine" if ends else "finish"


READERS: Mapping[str, tuple[Callable[[str], str], Provider, str, str]] = {
    "openai": (read_openai, Provider.OPENAI, "/open/v1", "sim-steady"),
    "anthropic": (read_anthropic, Provider.ANTHROPIC, "/anthropic", "sim-steady"),
    "openai_responses": (
        read_responses,
        Provider.OPENAI_RESPONSES,
        "/responses/v1",
        "sim-steady",
    ),
    "gemini": (read_gemini, Provider.GEMINI, "/gemini", "sim-gemini-3"),
    "ollama": (read_ollama, Provider.OLLAMA, "/ollama", "sim-steady"),
}


def read_with_sdk(format_: str, url: str) -> str:
    """fine, crash, garbled, lost, ids or finish."""
    try:
        return READERS[format_][0](url)
    except CRASHES:
        return "crash"
