from __future__ import annotations

from probes.dialects.base import Dialect, ReplayRule

# An unknown engine behind the OpenAI format: vLLM, SGLang, llama.cpp and others.
PLAIN = Dialect(
    "plain",
    ReplayRule.SAME_TURN,
    notes=("The template decides what reasoning is rendered (PROTOCOLS §9.4, §20).",),
)
