from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import UNFORCED, Dialect, ReplayRule, StrictSupport, ThinkingSwitch
from probes.messages import ReasoningKind

ANTHROPIC = Dialect(
    "anthropic",
    ReplayRule.SIGNATURE,
    "anthropic",
    carries=frozenset({ReasoningKind.BLOCK}),
    id_rule="anthropic",
    thinking=ThinkingSwitch(
        on={"thinking": {"type": "adaptive"}}, off={"thinking": {"type": "disabled"}}
    ),
    choices_thinking=UNFORCED,
    parallel_switch=True,
    strict=StrictSupport.TOOL,
    functions_only=False,
    blank_text=False,
    notes=("Thinking blocks go back unchanged or not at all (PROTOCOLS §2.5).",),
)

# Models whose signatures cover the whole conversation before them.
ANTHROPIC_BOUND = replace(
    ANTHROPIC,
    name="anthropic_bound",
    prefix_bound=True,
    thinking=ThinkingSwitch(on={"thinking": {"type": "adaptive"}}, off=None, by_default=True),
    choices=UNFORCED,
    notes=(
        "Any edit of system, tools or history voids the blocks behind it (PROTOCOLS §2.5b); "
        "a forced choice is always refused (PROTOCOLS §2.1).",
    ),
)
