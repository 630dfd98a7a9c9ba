"""The official SDKs' types as judges of a request body."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic.types
import ollama
import openai.types.chat.completion_create_params as chat_params
import openai.types.responses.response_create_params as responses_params
from google.genai import types as gemini_types
from pydantic import TypeAdapter


def _validate_gemini(body: Any) -> None:
    gemini_types.GenerationConfig.model_validate(body.get("generationConfig", {}))
    for content in body["contents"]:
        gemini_types.Content.model_validate(content)


# Each raises a ValidationError for a body that its SDK would not type.
VALIDATORS: dict[str, Callable[[Any], object]] = {
    "anthropic": TypeAdapter(
        anthropic.types.message_create_params.MessageCreateParamsNonStreaming
    ).validate_python,
    "openai": TypeAdapter(chat_params.CompletionCreateParamsNonStreaming).validate_python,
    "openai_responses": TypeAdapter(
        responses_params.ResponseCreateParamsNonStreaming
    ).validate_python,
    "gemini": _validate_gemini,
    "ollama": ollama._types.ChatRequest.model_validate,
}
