from __future__ import annotations

import json
import warnings
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.simulators.conversing import PROMPT, TOOLS, check, run_tool

with warnings.catch_warnings():
    # Its source has an escape that Python warns of when it is compiled for the first time.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import types

both_ways = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
Steps = list[list[tuple[str, dict[str, Any]]]]


def chat_tools() -> list[Any]:
    return [
        {"type": "function", "function": {"name": name, "description": "", "parameters": schema}}
        for name, schema in TOOLS.items()
    ]


def chat_message(sdk: openai.OpenAI, options: dict[str, Any], *, streamed: bool) -> Any:
    if not streamed:
        return sdk.chat.completions.create(**options).choices[0].message
    with sdk.chat.completions.stream(**options) as stream:
        return stream.get_final_completion().choices[0].message


@both_ways
@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/openai/v1", "sim-steady"),
        ("/open/v1", "sim-steady"),
        ("/llamacpp/v1", "any.gguf"),
        ("/vllm/v1", "sim-steady"),
        ("/deepseek/v1", "sim-v4"),
        ("/deepseek/v1", "sim-v3.2-reasoner"),
        ("/deepseek/v1", "sim-v3.2-chat"),
    ],
)
def test_the_openai_sdk_holds_a_conversation(
    vendor_url: str, path: str, model: str, streamed: bool
) -> None:
    """Chat Completions: parallel calls, an error result, a corrected call, an answer."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    steps: Steps = []
    with openai.OpenAI(base_url=vendor_url + path, api_key="sim-sdk", max_retries=0) as sdk:
        for _ in range(3):
            options = {"model": model, "messages": messages, "tools": chat_tools()}
            message = chat_message(sdk, options, streamed=streamed)
            calls = message.tool_calls or []
            said = message.to_dict()
            kept = {key: said[key] for key in ("reasoning_content",) if key in said}
            wire = [call.to_dict() for call in calls]
            for call in wire:
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
            sent = {"role": "assistant", "content": message.content, **kept}
            messages.append({**sent, "tool_calls": wire} if wire else sent)
            steps.append([(c.function.name, json.loads(c.function.arguments)) for c in calls])
            for call, (name, arguments) in zip(calls, steps[-1], strict=True):
                content = run_tool(name, arguments)[0]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})

    check(steps, message.content)


@both_ways
@pytest.mark.parametrize("effort", ["none", "low"])
def test_the_openai_sdk_converses_over_responses(
    vendor_url: str, effort: str, streamed: bool
) -> None:
    """Responses: every item goes back as it came, reasoning included."""
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    tools: list[Any] = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, schema in TOOLS.items()
    ]
    steps: Steps = []
    with openai.OpenAI(base_url=f"{vendor_url}/responses/v1", api_key="sim-sdk") as sdk:
        for _ in range(3):
            options: Any = {"model": "sim-steady", "input": items, "tools": tools}
            options |= {"reasoning": {"effort": effort}, "store": False}
            if streamed:
                with sdk.responses.stream(**options) as stream:
                    response: Any = stream.get_final_response()
            else:
                response = sdk.responses.create(**options)
            calls = [item for item in response.output if item.type == "function_call"]
            steps.append([(call.name, json.loads(call.arguments)) for call in calls])
            kinds = [item.type for item in response.output]
            assert ("reasoning" in kinds) == (effort == "low")
            for item in response.output:
                wire = item.to_dict()
                wire.pop("parsed_arguments", None)
                items.append(wire)
            for call, (name, arguments) in zip(calls, steps[-1], strict=True):
                output = run_tool(name, arguments)[0]
                items.append(
                    {"type": "function_call_output", "call_id": call.call_id, "output": output}
                )

    check(steps, response.output_text)


@both_ways
@pytest.mark.parametrize("thinking", [False, True])
def test_the_anthropic_sdk_holds_a_conversation(
    vendor_url: str, thinking: bool, streamed: bool
) -> None:
    """Messages: blocks go back as they came, signed thinking included."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    options: dict[str, Any] = {"model": "sim-steady", "max_tokens": 4000}
    options["tools"] = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    if thinking:
        options["thinking"] = {"type": "enabled", "budget_tokens": 2000}
    steps: Steps = []
    with anthropic.Anthropic(base_url=f"{vendor_url}/anthropic", api_key="sim-sdk") as sdk:
        for _ in range(3):
            if streamed:
                with sdk.messages.stream(messages=messages, **options) as stream:
                    message: Any = stream.get_final_message()
            else:
                message = sdk.messages.create(messages=messages, **options)
            assert any(block.type == "thinking" for block in message.content) is thinking
            blocks = [block.to_dict() for block in message.content]
            calls = [block for block in message.content if block.type == "tool_use"]
            steps.append([(call.name, call.input) for call in calls])
            messages.append({"role": "assistant", "content": blocks})
            results = []
            for call in calls:
                content, failed = run_tool(call.name, call.input)
                result = {"type": "tool_result", "tool_use_id": call.id, "content": content}
                results.append({**result, "is_error": failed})
            messages.append({"role": "user", "content": results})

    check(steps, message.content[-1].text)


@both_ways
@pytest.mark.parametrize("model", ["sim-gemini-3", "sim-gemini-2.5"])
def test_the_google_sdk_holds_a_conversation(vendor_url: str, model: str, streamed: bool) -> None:
    """generateContent: parts go back as they came, signatures included."""
    declared = [
        types.FunctionDeclaration(name=name, description=name, parameters_json_schema=schema)
        for name, schema in TOOLS.items()
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declared)],
        thinking_config=types.ThinkingConfig(include_thoughts=True),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
    steps: Steps = []
    http = types.HttpOptions(base_url=f"{vendor_url}/gemini", api_version="v1beta")
    with genai.Client(api_key="sim-sdk", http_options=http) as sdk:
        for _ in range(3):
            asked: Any = {"model": model, "contents": contents, "config": config}
            if streamed:
                parts = [
                    part
                    for chunk in sdk.models.generate_content_stream(**asked)
                    for part in (chunk.candidates or [])[0].content.parts or []  # type: ignore[union-attr]
                ]
            else:
                parts = sdk.models.generate_content(**asked).candidates[0].content.parts  # type: ignore[index, union-attr, assignment]
            calls: list[Any] = [part.function_call for part in parts if part.function_call]
            steps.append([(call.name, call.args) for call in calls])
            contents.append(types.Content(role="model", parts=parts))
            results = []
            for call in calls:
                content, failed = run_tool(call.name, call.args)
                response = {"error" if failed else "output": content}
                results.append(
                    types.FunctionResponse(id=call.id, name=call.name, response=response)
                )
            answered = [types.Part(function_response=result) for result in results]
            contents.append(types.Content(role="user", parts=answered))

    check(steps, "".join(part.text or "" for part in parts if not part.thought))


@both_ways
@pytest.mark.parametrize("think", [False, True])
def test_the_ollama_sdk_holds_a_conversation(
    vendor_url: str, request: pytest.FixtureRequest, think: bool, streamed: bool
) -> None:
    """/api/chat: whole calls in lines, results by tool name."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    sdk: Any = ollama.Client(host=f"{vendor_url}/ollama")
    # It has no way of its own to be closed.
    request.addfinalizer(sdk._client.close)
    steps: Steps = []
    for _ in range(3):
        options: Any = {"model": "sim-steady", "messages": messages, "tools": chat_tools()}
        found = sdk.chat(**options, think=think, stream=streamed)
        lines = list(found) if streamed else [found]
        said = [line.message for line in lines]
        calls = [call for message in said for call in message.tool_calls or []]
        text = "".join(message.content or "" for message in said)
        thought = "".join(message.thinking or "" for message in said)
        assert bool(thought) is think
        assert lines[-1].done_reason == "stop"
        steps.append([(call.function.name, dict(call.function.arguments)) for call in calls])
        turn = {"role": "assistant", "content": text, "thinking": thought, "tool_calls": calls}
        messages.append(turn)
        for name, arguments in steps[-1]:
            content = run_tool(name, arguments)[0]
            messages.append({"role": "tool", "tool_name": name, "content": content})

    check(steps, text)
