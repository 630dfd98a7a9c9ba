from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from probes.adapters.base import ErrorBody
from probes.adapters.openai_reply import read_reply
from probes.messages import JSON, ModelCall, Reply, Role, Text, ToolCall, ToolResult, ToolSpec, Turn
from probes.secret import Secret

MAX_ERROR = 2000


class OpenAIChatAdapter:
    """OpenAI Chat Completions, as OpenAI and everyone compatible with it speak it."""

    format = "openai"
    path = "/chat/completions"

    def headers(self, key: Secret | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key.reveal()}"} if key else {}

    def write_request(self, call: ModelCall) -> dict[str, JSON]:
        body: dict[str, JSON] = {"max_tokens": call.max_tokens, **call.options}
        # The newer name of the same limit; OpenAI refuses a request that carries both.
        if "max_completion_tokens" in call.options:
            body.pop("max_tokens")
        body["model"] = call.model
        body["messages"] = [message for turn in call.turns for message in _messages(turn)]
        if call.tools:
            body["tools"] = [_tool(spec) for spec in call.tools]
        if call.tool_choice is not None:
            body["tool_choice"] = call.tool_choice
        return body

    def read_reply(self, body: JSON) -> Reply:
        return read_reply(body)

    def read_error(self, body: JSON) -> ErrorBody | None:
        match body:
            case {"choices": [_, *_]}:
                return None
            case {"error": {"message": str(message), "code": str() | int() as code}}:
                return ErrorBody(message[:MAX_ERROR], str(code)[:100])
            case {"error": {"message": str(message)}}:
                return ErrorBody(message[:MAX_ERROR])
            case {"error": str(message)} | {"message": str(message)} | {"detail": str(message)}:
                return ErrorBody(message[:MAX_ERROR])
            case {"error": Mapping() as error} if error:
                return ErrorBody(json.dumps(error)[:MAX_ERROR])
            case _:
                return None


def _messages(turn: Turn) -> Iterator[dict[str, JSON]]:
    results = [part for part in turn.parts if isinstance(part, ToolResult)]
    for result in results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
    if results:
        return
    text = "".join(part.text for part in turn.parts if isinstance(part, Text))
    calls = [part for part in turn.parts if isinstance(part, ToolCall)]
    message: dict[str, JSON] = {"role": str(turn.role), "content": text}
    if turn.role is Role.ASSISTANT and calls:
        message["content"] = text or None
        message["tool_calls"] = [_call(call) for call in calls]
    yield message


def _call(call: ToolCall) -> dict[str, JSON]:
    function: dict[str, JSON] = {"name": call.name, "arguments": call.raw}
    return {"id": call.id, "type": "function", "function": function}


def _tool(spec: ToolSpec) -> dict[str, JSON]:
    function: dict[str, JSON] = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.schema,
    }
    return {"type": "function", "function": function}
