"""A fault: what goes wrong, at which stage, and what a correct prober must find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from probes.messages import JSON
from probes.outcomes import Metric
from simulators.vendors.hooks import FaultHooks

EVERY_FORMAT = frozenset({"anthropic", "gemini", "ollama", "openai", "openai_responses"})
CHAT = frozenset({"openai"})


@dataclass(frozen=True, slots=True)
class Effect:
    """How a fault that acts on every answer changes the truth about a vendor.

    `metrics` is the share of a metric's trials that fail, None where it depends on the request;
    `fields` are capabilities, and `varying` those that depend on how a client reads the answer.
    """

    metrics: Mapping[Metric, float | None] = field(default_factory=dict)
    fields: Mapping[str, JSON] = field(default_factory=dict)
    varying: frozenset[str] = frozenset()
    # The share of turns of which, from a model that shows its reasoning, nothing else arrives.
    bare_reasoning: float | None = 0
    # Every answer with a call has reasoning, also that of a model which shows none.
    shows_reasoning: bool = False
    # No history with calls is accepted, so a rule for the reasoning in it cannot be found.
    hides_replay: bool = False
    # What it changes instead where calls leak into the text; None for the same.
    in_text: Effect | None = None

    @property
    def leaks(self) -> bool:
        """Whether no call stays on the wire, and all of them come as text."""
        return self.metrics.get(Metric.LEAK) == 1 and self.metrics.get(Metric.PARSE_SUCCESS) == 1


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry of the registry. `make` gets the switch's own `value`, or None."""

    name: str
    row: str  # of the failure zoo (Z19), of the stream deviations (D2), or "" for neither
    symptom: str  # what a client sees, in one line
    make: Callable[[float | None], FaultHooks]
    formats: frozenset[str] = EVERY_FORMAT
    effect: Effect = Effect()
    value: str = ""  # what the switch's value means, if it takes one
