"""The request shapes that the vendors' own clients allow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from anthropic.types import MessageParam, ToolParam
from ollama._types import ChatRequest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

with warnings.catch_warnings():
    # The SDK's source has an invalid escape, for which Python warns when it compiles it.
    warnings.simplefilter("ignore")
    from google.genai import types as genai

CHAT: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
CHAT_TOOLS: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionToolUnionParam])
ITEMS: TypeAdapter[Any] = TypeAdapter(list[ResponseInputItemParam])
MESSAGES: TypeAdapter[Any] = TypeAdapter(list[MessageParam])
TOOLS: TypeAdapter[Any] = TypeAdapter(list[ToolParam])


def accept(format_: str, body: dict[str, Any]) -> None:
    """Raise if the official client of a format does not know a part of this request."""
    _JUDGES[format_](body)


def _judge_chat(body: dict[str, Any]) -> None:
    _check(CHAT, body["messages"])
    _check(CHAT_TOOLS, body.get("tools", []))


def _judge_anthropic(body: dict[str, Any]) -> None:
    _check(MESSAGES, body["messages"])
    _check(TOOLS, body.get("tools", []))


def _judge_gemini(body: dict[str, Any]) -> None:
    for content in body["contents"]:
        genai.Content.model_validate(content)
    for tool in body.get("tools", []):
        genai.Tool.model_validate(tool)
    genai.ToolConfig.model_validate(body.get("toolConfig", {}))


def _check(shape: TypeAdapter[Any], value: Any) -> None:
    # Dumping iterates over what validation leaves lazy.
    shape.dump_python(shape.validate_python(value), warnings=False)


_JUDGES: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "openai": _judge_chat,
    "openai_responses": lambda body: _check(ITEMS, body["input"]),
    "anthropic": _judge_anthropic,
    "gemini": _judge_gemini,
    "ollama": ChatRequest.model_validate,
}
