from __future__ import annotations

import json
import warnings
from typing import Any

import anthropic
import ollama
import openai
import pytest

from probes.messages import ToolSpec
from probes.text_answer import read_text_answer
from tests.simulators.conversation import FIRST, PROMPT, TOOLS, check_conversation, run_tool

with warnings.catch_warnings():
    # Its source has an invalid escape that Python warns about when it is first compiled.
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


THINKING_OFF = {"thinking": {"type": "disabled"}}
SPLIT = {"reasoning_split": True}
TEMPLATE_THINKS = {"chat_template_kwargs": {"enable_thinking": True}}
TEMPLATE_THINKS_NOT = {"chat_template_kwargs": {"enable_thinking": False}}
REASONING = ("reasoning_content", "reasoning", "reasoning_details")
# Path, model, extra fields of the request, and whether the answer shows reasoning.
CHATTING: list[tuple[str, str, dict[str, Any], bool]] = [
    ("/openai/v1", "sim-steady", {}, False),
    ("/open/v1", "sim-steady", {}, False),
    ("/mistral/v1", "sim-large", {}, False),
    ("/deepseek/v1", "sim-v4", {}, True),
    ("/deepseek/v1", "sim-v4", THINKING_OFF, False),
    ("/deepseek/v1", "sim-v3.2-reasoner", {}, True),
    ("/deepseek/v1", "sim-v3.2-chat", {}, False),
    ("/minimax/v1", "sim-m2", {}, True),
    ("/minimax/v1", "sim-m2", SPLIT, True),
    ("/glm/api/paas/v4", "sim-4.7", {}, True),
    ("/glm/api/paas/v4", "sim-4.7", THINKING_OFF, False),
    ("/glm/api/paas/v4", "sim-5.3", THINKING_OFF, True),
    ("/qwen/v1", "sim-max", {}, True),
    ("/qwen/v1", "sim-max", {"enable_thinking": False}, False),
    ("/qwen/v1", "sim-coder", {"enable_thinking": True}, False),
    ("/kimi/v1", "sim-k2.6", {}, True),
    ("/kimi/v1", "sim-k2.6", THINKING_OFF, False),
    ("/relay/v1", "sim-auto", {}, False),
    ("/relay/v1", "sim-auto", {"reasoning": {"effort": "low"}}, True),
    ("/llamacpp/v1", "any.gguf", {}, False),
    ("/llamacpp/v1", "any.gguf", TEMPLATE_THINKS, True),
    ("/vllm/v1", "sim-steady", {}, False),
    ("/vllm/v1", "sim-steady", TEMPLATE_THINKS, True),
    ("/qwen-hermes/v1", "sim-steady", {}, True),
    ("/qwen-hermes/v1", "sim-steady", TEMPLATE_THINKS_NOT, False),
]


@both_ways
@pytest.mark.parametrize("chatting", CHATTING, ids=str)
def test_the_openai_sdk_holds_a_conversation(
    vendor_url: str, chatting: tuple[str, str, dict[str, Any], bool], streamed: bool
) -> None:
    """Chat Completions: parallel calls, an error result, a corrected call, an answer."""
    path, model, extra_body, thinks = chatting
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    steps: Steps = []
    with openai.OpenAI(base_url=vendor_url + path, api_key="sim-sdk", max_retries=0) as sdk:
        for _ in range(3):
            options = {"model": model, "messages": messages, "tools": chat_tools()}
            message = chat_message(sdk, {**options, "extra_body": extra_body}, streamed=streamed)
            calls = message.tool_calls or []
            fields = message.to_dict()
            reasoning = {key: fields[key] for key in REASONING if key in fields}
            assert (bool(reasoning) or "<think>" in (message.content or "")) is thinks
            wire = [call.to_dict() for call in calls]
            for call in wire:
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
            reply = {"role": "assistant", "content": message.content, **reasoning}
            messages.append({**reply, "tool_calls": wire} if wire else reply)
            steps.append([(c.function.name, json.loads(c.function.arguments)) for c in calls])
            for call, (name, arguments) in zip(calls, steps[-1], strict=True):
                content = run_tool(name, arguments)[0]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})

    check_conversation(steps, message.content)


@both_ways
@pytest.mark.parametrize(
    ("path", "model"), [("/vllm-bare/v1", "sim-steady"), ("/qwen-xml/v1", "sim-coder")]
)
def test_the_calls_of_a_server_that_leaks_are_in_its_text(
    vendor_url: str, path: str, model: str, streamed: bool
) -> None:
    """The SDK sees no calls; our text reader recovers all of them."""
    options = {"model": model, "messages": [{"role": "user", "content": PROMPT}]}
    with openai.OpenAI(base_url=vendor_url + path, api_key="none", max_retries=0) as sdk:
        message = chat_message(sdk, {**options, "tools": chat_tools()}, streamed=streamed)

    schemas: dict[str, Any] = TOOLS
    specs = [ToolSpec(name, "", schema) for name, schema in schemas.items()]
    answer = read_text_answer([message.content], specs)

    assert not message.tool_calls
    assert [(call.name, dict(call.input)) for call in answer.calls] == FIRST
    assert answer.text is None


@both_ways
@pytest.mark.parametrize("effort", ["none", "low"])
@pytest.mark.parametrize("vendor", ["responses", "llamacpp-responses"])
def test_the_openai_sdk_converses_over_responses(
    vendor_url: str, vendor: str, effort: str, streamed: bool
) -> None:
    """Responses: every item is replayed unchanged, reasoning included."""
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    tools: list[Any] = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, schema in TOOLS.items()
    ]
    steps: Steps = []
    with openai.OpenAI(base_url=f"{vendor_url}/{vendor}/v1", api_key="sim-sdk") as sdk:
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

    check_conversation(steps, response.output_text)


ENABLED = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}


MESSAGING: list[tuple[str, str, dict[str, Any], bool]] = [
    ("/anthropic", "sim-steady", {}, False),
    ("/anthropic", "sim-steady", ENABLED, True),
    ("/anthropic-strict", "sim-opus-5.5", {}, True),
    ("/anthropic-strict", "sim-opus-5.5", ADAPTIVE, True),
    ("/minimax/anthropic", "sim-m2", {}, True),
    ("/deepseek/anthropic", "sim-v4", {}, True),
    ("/deepseek/anthropic", "sim-v4", THINKING_OFF, False),
    ("/llamacpp-messages", "any.gguf", {}, False),
    ("/llamacpp-messages", "any.gguf", ENABLED, True),
]


@both_ways
@pytest.mark.parametrize("messaging", MESSAGING, ids=str)
def test_the_anthropic_sdk_holds_a_conversation(
    vendor_url: str, messaging: tuple[str, str, dict[str, Any], bool], streamed: bool
) -> None:
    """Messages: blocks are replayed unchanged, signed thinking included."""
    path, model, more, thinking = messaging
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    options: dict[str, Any] = {"model": model, "max_tokens": 4000, **more}
    options["tools"] = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    steps: Steps = []
    with anthropic.Anthropic(base_url=vendor_url + path, api_key="sim-sdk") as sdk:
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

    check_conversation(steps, message.content[-1].text)


@both_ways
@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("model", ["sim-gemini-3", "sim-gemini-2.5"])
def test_the_google_sdk_holds_a_conversation(
    vendor_url: str, model: str, thinks: bool, streamed: bool
) -> None:
    """generateContent: parts are replayed unchanged, signatures included."""
    declared = [
        types.FunctionDeclaration(name=name, description=name, parameters_json_schema=schema)
        for name, schema in TOOLS.items()
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declared)],
        thinking_config=types.ThinkingConfig(include_thoughts=thinks),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
    steps: Steps = []
    http = types.HttpOptions(base_url=f"{vendor_url}/gemini", api_version="v1beta")
    with genai.Client(api_key="sim-sdk", http_options=http) as sdk:
        for _ in range(3):
            options: Any = {"model": model, "contents": contents, "config": config}
            if streamed:
                parts = [
                    part
                    for chunk in sdk.models.generate_content_stream(**options)
                    for part in (chunk.candidates or [])[0].content.parts or []
                ]
            else:
                parts = sdk.models.generate_content(**options).candidates[0].content.parts
            assert any(part.thought for part in parts) is thinks
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

    check_conversation(steps, "".join(part.text or "" for part in parts if not part.thought))


@both_ways
@pytest.mark.parametrize("think", [False, True])
def test_the_ollama_sdk_holds_a_conversation(
    vendor_url: str, request: pytest.FixtureRequest, think: bool, streamed: bool
) -> None:
    """/api/chat: whole calls in lines, results by tool name."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    sdk: Any = ollama.Client(host=f"{vendor_url}/ollama")
    # The SDK has no method to close its client.
    request.addfinalizer(sdk._client.close)
    steps: Steps = []
    for _ in range(3):
        options: Any = {"model": "sim-steady", "messages": messages, "tools": chat_tools()}
        response = sdk.chat(**options, think=think, stream=streamed)
        lines = list(response) if streamed else [response]
        replies = [line.message for line in lines]
        calls = [call for message in replies for call in message.tool_calls or []]
        text = "".join(message.content or "" for message in replies)
        thought = "".join(message.thinking or "" for message in replies)
        assert bool(thought) is think
        assert lines[-1].done_reason == "stop"
        steps.append([(call.function.name, dict(call.function.arguments)) for call in calls])
        turn = {"role": "assistant", "content": text, "thinking": thought, "tool_calls": calls}
        messages.append(turn)
        for name, arguments in steps[-1]:
            content = run_tool(name, arguments)[0]
            messages.append({"role": "tool", "tool_name": name, "content": content})

    check_conversation(steps, text)
