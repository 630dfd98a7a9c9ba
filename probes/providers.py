from __future__ import annotations

from enum import StrEnum


class Provider(StrEnum):
    """The provider of an endpoint, which selects adapter and dialect."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai_responses"
    DEEPSEEK = "deepseek"
    MINIMAX = "minimax"
    GLM = "glm"
    QWEN = "qwen"
    KIMI = "kimi"
    MISTRAL = "mistral"
    GEMINI = "gemini"
    OLLAMA = "ollama"
