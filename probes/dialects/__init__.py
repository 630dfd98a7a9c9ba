from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from probes.dialects.anthropic import ANTHROPIC, ANTHROPIC_BOUND
from probes.dialects.base import (
    Dialect,
    ReasoningDue,
    ReplayRule,
    StrictSupport,
    ThinkingSwitch,
    at_base_url,
    override_dialect,
)
from probes.dialects.deepseek import DEEPSEEK, DEEPSEEK_ANTHROPIC, DEEPSEEK_V32
from probes.dialects.gemini import GEMINI
from probes.dialects.glm import GLM, GLM_PRESERVED
from probes.dialects.kimi import KIMI, KIMI_K3
from probes.dialects.minimax import MINIMAX, MINIMAX_ANTHROPIC
from probes.dialects.mistral import MISTRAL
from probes.dialects.ollama import OLLAMA
from probes.dialects.openai import OPENAI, OPENAI_REASONING, OPENAI_RESPONSES
from probes.dialects.plain import PLAIN
from probes.dialects.qwen import QWEN, QWEN_PRESERVED
from probes.errors import TargetError
from probes.providers import Provider

__all__ = [
    "BY_FORMAT",
    "DIALECTS",
    "NAMED",
    "Dialect",
    "ReasoningDue",
    "ReplayRule",
    "StrictSupport",
    "ThinkingSwitch",
    "at_base_url",
    "check_dialect",
    "dialect_for",
    "dialect_named",
    "dialects_of",
    "override_dialect",
]

# The assumed dialect of each provider until it is measured.
DIALECTS: Mapping[Provider, Dialect] = MappingProxyType(
    {
        Provider.ANTHROPIC: ANTHROPIC,
        Provider.OPENAI: OPENAI,
        Provider.OPENAI_RESPONSES: OPENAI_RESPONSES,
        Provider.DEEPSEEK: DEEPSEEK,
        Provider.MINIMAX: MINIMAX,
        Provider.GLM: GLM,
        Provider.QWEN: QWEN,
        Provider.KIMI: KIMI,
        Provider.MISTRAL: MISTRAL,
        Provider.GEMINI: GEMINI,
        Provider.OLLAMA: OLLAMA,
    }
)

# The dialects that an endpoint of a wire format can have: also other versions and routes of a
# vendor, and the unknown one. Any provider of the format can be given any of them, since hosts
# serve the models of others.
BY_FORMAT: Mapping[str, tuple[Dialect, ...]] = MappingProxyType(
    {
        "anthropic": (ANTHROPIC, ANTHROPIC_BOUND, DEEPSEEK_ANTHROPIC, MINIMAX_ANTHROPIC),
        "openai": (
            OPENAI,
            OPENAI_REASONING,
            DEEPSEEK,
            DEEPSEEK_V32,
            MINIMAX,
            GLM,
            GLM_PRESERVED,
            QWEN,
            QWEN_PRESERVED,
            KIMI,
            KIMI_K3,
            MISTRAL,
            PLAIN,
        ),
        "openai_responses": (OPENAI_RESPONSES,),
        "gemini": (GEMINI,),
        "ollama": (OLLAMA,),
    }
)
NAMED: Mapping[str, Dialect] = MappingProxyType(
    {dialect.name: dialect for dialects in BY_FORMAT.values() for dialect in dialects}
)


def dialect_named(name: str) -> Dialect:
    """The dialect of that name."""
    try:
        return NAMED[name]
    except KeyError as exc:
        raise TargetError("There is no dialect {name}.", name=repr(name)) from exc


def dialects_of(provider: Provider) -> tuple[Dialect, ...]:
    """The dialects that an endpoint of this provider can have: those of its wire format."""
    own = DIALECTS[provider]
    return next(dialects for dialects in BY_FORMAT.values() if own in dialects)


def check_dialect(provider: Provider, name: str) -> None:
    """Refuse a dialect that the provider's wire format cannot have; empty is the provider's own."""
    fitting = [dialect.name for dialect in dialects_of(provider)]
    if name and name not in fitting:
        raise TargetError(
            "The dialect {dialect} does not fit the provider {provider}. Choose one of {names}.",
            dialect=repr(name),
            provider=repr(str(provider)),
            names=", ".join(fitting),
        )


def dialect_for(provider: Provider, name: str = "") -> Dialect:
    """The chosen dialect, or the provider's own."""
    check_dialect(provider, name)
    return NAMED[name] if name else DIALECTS[provider]
