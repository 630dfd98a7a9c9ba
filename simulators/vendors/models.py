"""What a simulated model is like. Everything that tells models apart is data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Thinks(StrEnum):
    """When a model shows that it thinks."""

    NEVER = "never"
    ASKED = "when asked"
    UNLESS_DISABLED = "unless disabled"


class Replay(StrEnum):
    """What must come back with the history."""

    FREE = "nothing"
    SAME_TURN = "reasoning of the current turn"
    ALL_TURNS = "reasoning of every tool turn"
    SIGNATURES = "thought signatures of the current turn"


@dataclass(frozen=True, slots=True)
class Model:
    """How a model thinks, and how often it goes wrong in which way."""

    thinks: Thinks = Thinks.ASKED
    replay: Replay = Replay.FREE
    takes_tools: bool = True
    leaks: float = 0
    breaks_schema: float = 0
    fades: bool = False
    only_prose: bool = False


OPENAI_MODELS = {
    "sim-steady": Model(Thinks.NEVER),
    "sim-leaky": Model(Thinks.NEVER, leaks=0.25),
    "sim-sloppy": Model(Thinks.NEVER, breaks_schema=0.2),
    "sim-prose": Model(Thinks.NEVER, only_prose=True),
    "sim-fading": Model(Thinks.NEVER, fades=True),
}
DEEPSEEK_MODELS = {
    "sim-v4": Model(Thinks.UNLESS_DISABLED, Replay.ALL_TURNS),
    "sim-v3.2-reasoner": Model(Thinks.UNLESS_DISABLED, Replay.SAME_TURN),
    "sim-v3.2-chat": Model(Thinks.NEVER),
}
GEMINI_MODELS = {
    "sim-gemini-3": Model(replay=Replay.SIGNATURES),
    "sim-gemini-2.5": Model(),
}
OLLAMA_MODELS = {"sim-steady:latest": Model(), "sim-plain:latest": Model(takes_tools=False)}
STEADY = {"sim-steady": Model()}
