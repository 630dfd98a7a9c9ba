from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import UNFORCED, Dialect, ReplayRule, ThinkingSwitch

QWEN = Dialect(
    "qwen",
    ReplayRule.SAME_TURN,
    reasoning_field="reasoning_content",
    block_to_field=True,
    thinking=ThinkingSwitch(
        on={"enable_thinking": True}, off={"enable_thinking": False}, by_default=True
    ),
    choices_thinking=UNFORCED,
    takes_effort=False,
    notes=("DashScope enforces no replay and refuses a forced choice in thinking (PROTOCOLS §8).",),
)

# An engine that renders the model's own template. From 3.6 on, the model was trained with its
# reasoning of all turns, and without it makes calls without arguments.
QWEN_PRESERVED = replace(
    QWEN,
    name="qwen_preserved",
    replay=ReplayRule.ALL_TURNS,
    thinking=ThinkingSwitch(
        on={"chat_template_kwargs": {"enable_thinking": True, "preserve_thinking": True}},
        off={"chat_template_kwargs": {"enable_thinking": False}},
        by_default=True,
    ),
    tool_extras={"chat_template_kwargs": {"preserve_thinking": True}},
    notes=("preserve_thinking keeps the reasoning of all turns (PROTOCOLS §8).",),
)
