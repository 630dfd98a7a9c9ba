"""Options of a generation, one table per wire format."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.adapters.generation import anthropic, gemini, ollama, openai_chat, openai_responses
from probes.adapters.generation.options import OptionTable

OPTIONS: Mapping[str, OptionTable] = MappingProxyType(
    {
        "anthropic": anthropic.OPTIONS,
        "gemini": gemini.OPTIONS,
        "ollama": ollama.OPTIONS,
        "openai": openai_chat.OPTIONS,
        "openai_responses": openai_responses.OPTIONS,
    }
)
