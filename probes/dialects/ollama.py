from __future__ import annotations

from probes.dialects.base import Dialect, ReplayRule, StrictSupport, ThinkingSwitch
from probes.error_table import ErrorClass, ErrorPattern

OLLAMA = Dialect(
    "ollama",
    ReplayRule.SAME_TURN,
    "ollama",
    reasoning_field="thinking",
    block_to_field=True,
    thinking=ThinkingSwitch(on={"think": True}, off={"think": False}),
    choices=frozenset(),
    choices_thinking=frozenset(),
    parallel_switch=False,
    strict=StrictSupport.NEVER,
    # Most models know only whether to think.
    takes_effort=False,
    # Older builds ignore ids.
    results_in_call_order=True,
    errors=(ErrorPattern(ErrorClass.PARAM_UNKNOWN, (("invalid reasoning value",),)),),
    notes=("No tool_choice, no parallel switch, no strict (PROTOCOLS §10).",),
)
