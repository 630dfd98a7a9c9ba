from __future__ import annotations

from dataclasses import replace

from probes.dialects.base import Dialect, ReplayRule, ThinkingSwitch

AUTO_ONLY = frozenset({"auto"})

GLM = Dialect(
    "glm",
    ReplayRule.SAME_TURN,
    reasoning_field="reasoning_content",
    block_to_field=True,
    thinking=ThinkingSwitch(
        on={"thinking": {"type": "enabled"}},
        off={"thinking": {"type": "disabled"}},
        by_default=True,
    ),
    choices=AUTO_ONLY,
    choices_thinking=AUTO_ONLY,
    # Accepted, but without effect.
    efforts={"none": None, "off": None},
    stream_extras={"tool_stream": True},
    notes=("Anything but auto is refused; calls stream only with tool_stream (PROTOCOLS §7).",),
)

# Preserved thinking: on by default at the coding endpoint, opt-in at the standard one.
GLM_PRESERVED = replace(
    GLM,
    name="glm_preserved",
    replay=ReplayRule.ALL_TURNS,
    thinking=replace(GLM.thinking, on={"thinking": {"type": "enabled", "clear_thinking": False}}),
    notes=("Complete and unmodified reasoning of all turns (PROTOCOLS §7).",),
)
