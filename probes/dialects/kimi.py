from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import UNFORCED, Dialect, ReasoningDue, ReplayRule, ThinkingSwitch

KIMI = Dialect(
    "kimi",
    ReplayRule.ALL_TURNS,
    reasoning_due=ReasoningDue.CALLS,
    reasoning_field="reasoning_content",
    block_to_field=True,
    id_rule="kimi",
    thinking=ThinkingSwitch(
        on={"thinking": {"type": "enabled"}},
        off={"thinking": {"type": "disabled"}},
        by_default=True,
    ),
    choices_thinking=UNFORCED,
    takes_effort=False,
    notes=(
        "reasoning_content on every message with calls; ids are functions.NAME:IDX "
        "(PROTOCOLS §9.1).",
    ),
)

KIMI_K3 = replace(
    KIMI,
    name="kimi_k3",
    thinking=ThinkingSwitch(off=None, by_default=True),
    choices_thinking=UNFORCED | {"required"},
    takes_effort=True,
    notes=("Thinks always and keeps the reasoning of all turns (PROTOCOLS §9.1, §20).",),
)
