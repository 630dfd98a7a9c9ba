from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulators.model.pictures import find_pictures
from simulators.vendors.error_envelopes import RequestRefused

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
PARAMETERS = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "metadata",
        "modalities",
        "model",
        "n",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "reasoning_effort",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
    }
)
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def check_request(request: Mapping[str, Any]) -> None:
    """Raise RequestRefused if OpenAI would refuse the shape of a request."""
    for name in request:
        if name not in PARAMETERS:
            raise RequestRefused(
                f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter"
            )
    _require(request, "model")
    _check_messages(request)
    _check_tools(request)


def _check_messages(request: Mapping[str, Any]) -> None:
    messages = _require(request, "messages")
    if not isinstance(messages, list) or not messages:
        raise _wrong_type("messages", "a non-empty array of objects")
    for index, message in enumerate(messages):
        path = f"messages[{index}]"
        if not isinstance(message, dict):
            raise _wrong_type(path, "an object")
        role = message.get("role")
        if role not in ROLES:
            known = ", ".join(f"'{name}'" for name in ROLES)
            raise RequestRefused(
                f"Invalid value: '{role}'. Supported values are: {known}.",
                param=f"{path}.role",
                code="invalid_value",
            )
        if not isinstance(message.get("content"), str | list | None):
            raise _wrong_type(f"{path}.content", "a string or an array of objects")
        if role != "user" and any(find_pictures(message.get("content"))):
            raise RequestRefused(
                f"Invalid '{path}'. Image URLs are only allowed for messages with role 'user', but "
                f"this message with role '{role}' contains an image URL.",
                param=path,
                code="invalid_value",
            )


def _check_tools(request: Mapping[str, Any]) -> None:
    tools = request.get("tools")
    if tools is None:
        for name in ("tool_choice", "parallel_tool_calls"):
            if name in request:
                raise RequestRefused(
                    f"'{name}' is only allowed when 'tools' are specified.", param=name
                )
        return
    if not isinstance(tools, list) or not tools:
        raise _wrong_type("tools", "a non-empty array of objects")
    for index, tool in enumerate(tools):
        _check_tool(tool, f"tools[{index}]")
    _check_choice(request.get("tool_choice", "auto"), tools)


def _check_tool(tool: Any, path: str) -> None:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        raise RequestRefused(
            f"Invalid value for '{path}.type'.", param=f"{path}.type", code="invalid_value"
        )
    function = tool.get("function")
    if not isinstance(function, dict):
        raise RequestRefused(
            f"Missing required parameter: '{path}.function'.",
            param=f"{path}.function",
            code="missing_required_parameter",
        )
    name = function.get("name")
    if not isinstance(name, str) or not 1 <= len(name) <= 64 or not set(name) <= _NAME:
        raise RequestRefused(
            f"Invalid '{path}.function.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            param=f"{path}.function.name",
            code="invalid_value",
        )
    if not isinstance(function.get("parameters", {}), dict):
        raise RequestRefused(
            f"Invalid schema for function '{name}'.", param=f"{path}.function.parameters"
        )


def _check_choice(choice: Any, tools: list[dict[str, Any]]) -> None:
    if choice in ("none", "auto", "required"):
        return
    names = [tool["function"]["name"] for tool in tools]
    if any(choice == {"type": "function", "function": {"name": name}} for name in names):
        return
    raise RequestRefused(
        "Invalid value for 'tool_choice'.", param="tool_choice", code="invalid_value"
    )


def _require(request: Mapping[str, Any], name: str) -> Any:
    if name not in request:
        raise RequestRefused(
            f"Missing required parameter: '{name}'.",
            param=name,
            code="missing_required_parameter",
        )
    return request[name]


def _wrong_type(param: str, expected: str) -> RequestRefused:
    message = f"Invalid type for '{param}': expected {expected}."
    return RequestRefused(message, param=param, code="invalid_type")
