"""The traits of the simulated models. All differences between models are data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ThinkingMode(StrEnum):
    """When a model shows its reasoning."""

    NEVER = "never"
    ON_REQUEST = "when asked"
    UNLESS_DISABLED = "unless disabled"
    ALWAYS = "always"


class ReplayDuty(StrEnum):
    """What a client must replay with the history."""

    FREE = "nothing"
    SAME_TURN = "reasoning of the current turn"
    ALL_TURNS = "reasoning of every tool turn"
    CALL_TURNS = "reasoning of every message with calls"
    SIGNATURES = "thought signatures of the current turn"
    ITEMS = "reasoning items, where what they belong to keeps its id"


@dataclass(frozen=True, slots=True)
class Model:
    """When a model thinks, and what it requires to be replayed."""

    thinking_mode: ThinkingMode = ThinkingMode.ON_REQUEST
    replay: ReplayDuty = ReplayDuty.FREE
    takes_tools: bool = True


OPENAI_MODELS = {"sim-steady": Model(ThinkingMode.NEVER)}
OPUS_MODELS = {"sim-opus-5.5": Model(ThinkingMode.ALWAYS)}
DEEPSEEK_MODELS = {
    "sim-v4": Model(ThinkingMode.UNLESS_DISABLED, ReplayDuty.ALL_TURNS),
    "sim-v3.2-reasoner": Model(ThinkingMode.UNLESS_DISABLED, ReplayDuty.SAME_TURN),
    "sim-v3.2-chat": Model(ThinkingMode.NEVER),
}
DEEPSEEK_ANTHROPIC_MODELS = {"sim-v4": DEEPSEEK_MODELS["sim-v4"]}
# Lost reasoning makes their answers worse, but no request is refused.
MINIMAX_MODELS = {"sim-m2": Model(ThinkingMode.ALWAYS)}
GLM_MODELS = {"sim-4.7": Model(ThinkingMode.UNLESS_DISABLED), "sim-5.3": Model(ThinkingMode.ALWAYS)}
QWEN_MODELS = {
    "sim-max": Model(ThinkingMode.UNLESS_DISABLED),
    "sim-coder": Model(ThinkingMode.NEVER),
}
KIMI_MODELS = {"sim-k2.6": Model(ThinkingMode.UNLESS_DISABLED, ReplayDuty.CALL_TURNS)}
MISTRAL_MODELS = {"sim-large": Model(ThinkingMode.NEVER)}
RELAY_MODELS = {"sim-auto": Model()}
GEMINI_MODELS = {
    "sim-gemini-3": Model(replay=ReplayDuty.SIGNATURES),
    "sim-gemini-2.5": Model(),
}
OLLAMA_MODELS = {"sim-steady:latest": Model(), "sim-plain:latest": Model(takes_tools=False)}
HERMES_MODELS = {"sim-steady": Model(ThinkingMode.UNLESS_DISABLED)}
CODER_MODELS = {"sim-coder": Model(ThinkingMode.NEVER)}
STEADY = {"sim-steady": Model()}
RESPONSES_MODELS = {"sim-steady": Model(replay=ReplayDuty.ITEMS)}
