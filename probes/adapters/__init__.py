from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.adapters.anthropic.adapter import AnthropicAdapter
from probes.adapters.base import Adapter, ErrorBody
from probes.adapters.gemini.adapter import GeminiAdapter
from probes.adapters.ollama.adapter import OllamaAdapter
from probes.adapters.openai_chat.adapter import OpenAIChatAdapter
from probes.adapters.openai_responses.adapter import OpenAIResponsesAdapter
from probes.providers import Provider

__all__ = ["ADAPTERS", "FORMATS", "Adapter", "ErrorBody", "adapter_for"]

# Every wire format, by its name in a capability profile.
FORMATS: Mapping[str, Adapter] = MappingProxyType(
    {
        "anthropic": AnthropicAdapter(),
        "gemini": GeminiAdapter(),
        "ollama": OllamaAdapter(),
        "openai": OpenAIChatAdapter(),
        "openai_responses": OpenAIResponsesAdapter(),
    }
)

ADAPTERS: Mapping[Provider, Adapter] = MappingProxyType(
    {
        Provider.ANTHROPIC: FORMATS["anthropic"],
        Provider.OPENAI: FORMATS["openai"],
        Provider.OPENAI_RESPONSES: FORMATS["openai_responses"],
        Provider.DEEPSEEK: FORMATS["openai"],
        Provider.MINIMAX: FORMATS["openai"],
        Provider.GLM: FORMATS["openai"],
        Provider.QWEN: FORMATS["openai"],
        Provider.KIMI: FORMATS["openai"],
        Provider.MISTRAL: FORMATS["openai"],
        Provider.GEMINI: FORMATS["gemini"],
        Provider.OLLAMA: FORMATS["ollama"],
    }
)


def adapter_for(provider: Provider) -> Adapter:
    """The adapter for a provider."""
    return ADAPTERS[provider]
