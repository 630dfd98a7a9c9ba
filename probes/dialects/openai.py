from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import Dialect, ReplayRule, StrictSupport, ThinkingSwitch
from probes.messages import ReasoningKind

OPENAI = Dialect(
    "openai",
    ReplayRule.NONE,
    carries=frozenset(),
    id_rule="openai",
    parallel_switch=True,
    strict=StrictSupport.TOOL,
    functions_only=False,
    # Refused beside tools by the models that reason, and by all others (PROTOCOLS §3.5).
    takes_effort=False,
    roles={},
    notes=("Reasoning is neither shown nor taken back on Chat Completions (PROTOCOLS §3.5).",),
)

# Models that reason by default refuse function tools on this route unless effort is none.
OPENAI_REASONING = replace(
    OPENAI,
    name="openai_reasoning",
    tool_extras={"reasoning_effort": "none"},
    # They refuse the older name (PROTOCOLS §3.6).
    limit_field="max_completion_tokens",
    notes=("Better served by the Responses API (PROTOCOLS §3.5).",),
)

OPENAI_RESPONSES = replace(
    OPENAI,
    name="openai_responses",
    format="openai_responses",
    takes_effort=True,
    replay=ReplayRule.ITEM_PAIR,
    carries=frozenset({ReasoningKind.ITEM}),
    id_rule="openai_responses",
    thinking=ThinkingSwitch(off={"reasoning": {"effort": "none"}}, by_default=True),
    notes=("A reasoning item and the call after it go back together (PROTOCOLS §4).",),
)
