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
from probes.target import Provider

__all__ = [
    "DIALECTS",
    "NAMED",
    "Dialect",
    "ReasoningDue",
    "ReplayRule",
    "StrictSupport",
    "ThinkingSwitch",
    "dialect_named",
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

# Every dialect by name: also other versions and routes of a vendor, and the unknown one.
NAMED: Mapping[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (
            *DIALECTS.values(),
            ANTHROPIC_BOUND,
            DEEPSEEK_ANTHROPIC,
            DEEPSEEK_V32,
            GLM_PRESERVED,
            KIMI_K3,
            MINIMAX_ANTHROPIC,
            OPENAI_REASONING,
            PLAIN,
            QWEN_PRESERVED,
        )
    }
)


def dialect_named(name: str) -> Dialect:
    """The dialect that an operator chose by name."""
    try:
        return NAMED[name]
    except KeyError as exc:
        raise TargetError(f"There is no dialect {name!r}.") from exc
