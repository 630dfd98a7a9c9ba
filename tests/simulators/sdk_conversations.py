"""The conversation of conversation.py, held by each official SDK, whole or streamed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anthropic
import ollama
import openai

from tests.simulators.conversation import PROMPT, TOOLS, check_conversation, run_tool

with warnings.catch_warnings():
    # Its source has an invalid escape that Python warns about when it is first compiled.
    warnings.simplefilter("ignore")
    from google import genai
    from google.genai import types

REASONING = ("reasoning_content", "reasoning", "reasoning_details")
STEPS = 3


@dataclass
class Conversation:
    """The calls of each step, the last text, and whether each step showed reasoning."""

    steps: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)
    text: str | None = None
    thinks: list[bool] = field(default_factory=list)

    def check(self, *, thinks: bool | None = None) -> None:
        check_conversation(self.steps, self.text)
        if thinks is not None:
            assert self.thinks == [thinks] * STEPS


@dataclass(frozen=True)
class SdkOptions:
    """Where and how an SDK asks; `more` are fields of the request."""

    base_url: str
    model: str
    key: str = "sim-sdk"
    streamed: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)


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


def converse_by_chat(options: SdkOptions) -> Conversation:
    """Chat Completions; reasoning is replayed in the field that it came in."""
    talk = Conversation()
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    with openai.OpenAI(base_url=options.base_url, api_key=options.key, max_retries=0) as sdk:
        for _ in range(STEPS):
            asked: dict[str, Any] = {
                "model": options.model,
                "messages": messages,
                "tools": chat_tools(),
                "extra_body": dict(options.more),
            }
            message = chat_message(sdk, asked, streamed=options.streamed)
            calls = message.tool_calls or []
            fields = message.to_dict()
            reasoning = {key: fields[key] for key in REASONING if key in fields}
            talk.thinks.append(bool(reasoning) or "<think>" in (message.content or ""))
            wire = [call.to_dict() for call in calls]
            for call in wire:
                call["function"].pop("parsed_arguments", None)
                call.pop("index", None)
            reply = {"role": "assistant", "content": message.content, **reasoning}
            messages.append({**reply, "tool_calls": wire} if wire else reply)
            talk.steps.append([(c.function.name, json.loads(c.function.arguments)) for c in calls])
            for call, (name, arguments) in zip(calls, talk.steps[-1], strict=True):
                content = run_tool(name, arguments)[0]
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            talk.text = message.content
    return talk


def converse_by_responses(options: SdkOptions) -> Conversation:
    """Responses: every item is replayed unchanged, reasoning included."""
    talk = Conversation()
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    tools: list[Any] = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, schema in TOOLS.items()
    ]
    with openai.OpenAI(base_url=options.base_url, api_key=options.key, max_retries=0) as sdk:
        for _ in range(STEPS):
            asked: Any = {"model": options.model, "input": items, "tools": tools, "store": False}
            asked |= options.more
            if options.streamed:
                with sdk.responses.stream(**asked) as stream:
                    response: Any = stream.get_final_response()
            else:
                response = sdk.responses.create(**asked)
            calls = [item for item in response.output if item.type == "function_call"]
            talk.steps.append([(call.name, json.loads(call.arguments)) for call in calls])
            talk.thinks.append(any(item.type == "reasoning" for item in response.output))
            for item in response.output:
                wire = item.to_dict()
                wire.pop("parsed_arguments", None)
                items.append(wire)
            for call, (name, arguments) in zip(calls, talk.steps[-1], strict=True):
                output = run_tool(name, arguments)[0]
                items.append(
                    {"type": "function_call_output", "call_id": call.call_id, "output": output}
                )
            talk.text = response.output_text
    return talk


def converse_by_messages(options: SdkOptions) -> Conversation:
    """Messages: blocks are replayed unchanged, signed thinking included."""
    talk = Conversation()
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    asked: dict[str, Any] = {"model": options.model, "max_tokens": 4000, **options.more}
    asked["tools"] = [{"name": name, "input_schema": schema} for name, schema in TOOLS.items()]
    with anthropic.Anthropic(base_url=options.base_url, api_key=options.key, max_retries=0) as sdk:
        for _ in range(STEPS):
            if options.streamed:
                with sdk.messages.stream(messages=messages, **asked) as stream:
                    message: Any = stream.get_final_message()
            else:
                message = sdk.messages.create(messages=messages, **asked)
            talk.thinks.append(any(block.type == "thinking" for block in message.content))
            blocks = [block.to_dict() for block in message.content]
            calls = [block for block in message.content if block.type == "tool_use"]
            talk.steps.append([(call.name, call.input) for call in calls])
            messages.append({"role": "assistant", "content": blocks})
            results = []
            for call in calls:
                content, failed = run_tool(call.name, call.input)
                result = {"type": "tool_result", "tool_use_id": call.id, "content": content}
                results.append({**result, "is_error": failed})
            messages.append({"role": "user", "content": results})
            texts = [block.text for block in message.content if block.type == "text"]
            talk.text = texts[-1] if texts else None
    return talk


def converse_by_gemini(options: SdkOptions) -> Conversation:
    """generateContent: parts are replayed unchanged, signatures included."""
    talk = Conversation()
    declared = [
        types.FunctionDeclaration(name=name, description=name, parameters_json_schema=schema)
        for name, schema in TOOLS.items()
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declared)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        **options.more,
    )
    contents: list[Any] = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
    http = types.HttpOptions(base_url=options.base_url, api_version="v1beta")
    with genai.Client(api_key=options.key, http_options=http) as sdk:
        for _ in range(STEPS):
            asked: Any = {"model": options.model, "contents": contents, "config": config}
            parts = _gemini_parts(sdk, asked, streamed=options.streamed)
            talk.thinks.append(any(part.thought for part in parts))
            calls: list[Any] = [part.function_call for part in parts if part.function_call]
            talk.steps.append([(call.name, call.args) for call in calls])
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
            talk.text = "".join(part.text or "" for part in parts if not part.thought)
    return talk


def _gemini_parts(sdk: Any, asked: Any, *, streamed: bool) -> list[Any]:
    if not streamed:
        return list(sdk.models.generate_content(**asked).candidates[0].content.parts)
    return [
        part
        for chunk in sdk.models.generate_content_stream(**asked)
        for candidate in (chunk.candidates or [])[:1]
        for part in (candidate.content.parts if candidate.content else None) or []
    ]


def converse_by_ollama(options: SdkOptions) -> Conversation:
    """/api/chat: whole calls in lines, results by tool name."""
    talk = Conversation()
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    headers = {"Authorization": f"Bearer {options.key}"}
    sdk: Any = ollama.Client(host=options.base_url, headers=headers)
    try:
        for _ in range(STEPS):
            asked: Any = {"model": options.model, "messages": messages, "tools": chat_tools()}
            response = sdk.chat(**asked, **options.more, stream=options.streamed)
            lines = list(response) if options.streamed else [response]
            replies = [line.message for line in lines]
            calls = [call for message in replies for call in message.tool_calls or []]
            text = "".join(message.content or "" for message in replies)
            thought = "".join(message.thinking or "" for message in replies)
            talk.thinks.append(bool(thought))
            assert lines[-1].done_reason == "stop"
            talk.steps.append(
                [(call.function.name, dict(call.function.arguments)) for call in calls]
            )
            turn = {"role": "assistant", "content": text, "thinking": thought, "tool_calls": calls}
            messages.append(turn)
            for name, arguments in talk.steps[-1]:
                content = run_tool(name, arguments)[0]
                messages.append({"role": "tool", "tool_name": name, "content": content})
            talk.text = text
    finally:
        # The SDK has no method to close its client.
        sdk._client.close()
    return talk


SDKS: Mapping[str, Callable[[SdkOptions], Conversation]] = {
    "openai": converse_by_chat,
    "anthropic": converse_by_messages,
    "openai_responses": converse_by_responses,
    "gemini": converse_by_gemini,
    "ollama": converse_by_ollama,
}
