from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.adapters.base import Adapter, ErrorBody
from probes.adapters.openai_chat import OpenAIChatAdapter
from probes.errors import TargetError
from probes.target import Provider

__all__ = ["ADAPTERS", "Adapter", "ErrorBody", "adapter_for"]

_OPENAI_CHAT = OpenAIChatAdapter()

ADAPTERS: Mapping[Provider, Adapter] = MappingProxyType(
    {
        Provider.OPENAI: _OPENAI_CHAT,
        Provider.DEEPSEEK: _OPENAI_CHAT,
        Provider.MINIMAX: _OPENAI_CHAT,
        Provider.GLM: _OPENAI_CHAT,
        Provider.QWEN: _OPENAI_CHAT,
        Provider.KIMI: _OPENAI_CHAT,
        Provider.MISTRAL: _OPENAI_CHAT,
    }
)


def adapter_for(provider: Provider) -> Adapter:
    """The adapter that speaks to a provider."""
    try:
        return ADAPTERS[provider]
    except KeyError as exc:
        raise TargetError(f"No adapter for provider {str(provider)!r} yet.") from exc
