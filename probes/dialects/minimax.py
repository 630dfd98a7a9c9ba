from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import Dialect, ReplayRule, ThinkingSwitch
from probes.error_table import ErrorClass, ErrorPattern
from probes.messages import ReasoningKind

MINIMAX = Dialect(
    "minimax",
    ReplayRule.BEHAVIOURAL,
    carries=frozenset({ReasoningKind.DETAILS, ReasoningKind.FIELD, ReasoningKind.TAGS}),
    reasoning_field="reasoning_content",
    block_to_field=True,
    thinking=ThinkingSwitch(off=None, by_default=True),
    takes_effort=False,
    extras={"reasoning_split": True},
    errors=(ErrorPattern(ErrorClass.NO_TOOLS, (("not yet implemented",),)),),
    notes=(
        "Reasoning lost is no error but loops and wrong tools; send it all back (PROTOCOLS §6).",
        "Without reasoning_split the thoughts stand between think tags in the content, where a "
        "client has to tell them from the answer.",
    ),
)

MINIMAX_ANTHROPIC = replace(
    MINIMAX,
    name="minimax_anthropic",
    format="anthropic",
    carries=frozenset({ReasoningKind.BLOCK}),
    reasoning_field=None,
    block_to_field=False,
    extras={},
)
