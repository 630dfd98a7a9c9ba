from __future__ import annotations

from probes.dialects.base import Dialect, ReplayRule, StrictSupport
from probes.messages import ReasoningKind

GEMINI = Dialect(
    "gemini",
    ReplayRule.SIGNATURE,
    "gemini",
    carries=frozenset({ReasoningKind.THOUGHT}),
    sentinel="skip_thought_signature_validator",
    parallel_switch=False,
    strict=StrictSupport.NEVER,
    # An object schema without properties was refused for a long time; omit the parameters.
    empty_schema=False,
    functions_only=False,
    # Calls of older models have no ids, and a name does not identify one of two calls of a tool.
    results_in_call_order=True,
    notes=("The first call of every step carries its thoughtSignature (PROTOCOLS §5).",),
)
