from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import (
    EVERY_CHOICE,
    Dialect,
    ReasoningDue,
    ReplayRule,
    StrictSupport,
    ThinkingSwitch,
)
from probes.messages import ReasoningKind

DEEPSEEK = Dialect(
    "deepseek",
    ReplayRule.ALL_TURNS,
    replay_needs_tools=True,
    reasoning_due=ReasoningDue.TURNS,
    reasoning_field="reasoning_content",
    block_to_field=True,
    thinking=ThinkingSwitch(
        on={"thinking": {"type": "enabled"}},
        off={"thinking": {"type": "disabled"}},
        by_default=True,
    ),
    choices=EVERY_CHOICE,
    # `auto` is the default, and sources disagree on whether it may be sent, so it is omitted.
    choices_thinking=frozenset({"none"}),
    strict=StrictSupport.BETA,
    efforts={"minimal": "low", "medium": "high", "xhigh": "high", "ultra": "max"},
    notes=(
        "V4 and later: reasoning_content on every assistant turn, across user turns, once tools "
        "are in play (PROTOCOLS §1.4).",
        "A forced tool_choice needs thinking off (PROTOCOLS §1.1).",
    ),
)

DEEPSEEK_V32 = replace(
    DEEPSEEK,
    name="deepseek_v32",
    replay=ReplayRule.SAME_TURN,
    replay_needs_tools=False,
    reasoning_due=ReasoningDue.CALLS,
    notes=("V3.2: reasoning of the current turn; older turns were dropped (PROTOCOLS §1.4).",),
)

DEEPSEEK_ANTHROPIC = replace(
    DEEPSEEK,
    name="deepseek_anthropic",
    format="anthropic",
    carries=frozenset({ReasoningKind.BLOCK}),
    reasoning_field=None,
    block_to_field=False,
    notes=("The /anthropic route wants thinking blocks back (PROTOCOLS §1.4).",),
)
