"""A fault: what goes wrong, at which stage, and what a correct prober must find then."""

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
    """What a fault does to the truth about a vendor while it acts on every answer.

    `metrics` is the share of a metric's trials that go badly by it, None where that depends on
    what is asked; `fields` are capabilities.
    """

    metrics: Mapping[Metric, float | None] = field(default_factory=dict)
    fields: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry of the registry. `make` gets the switch's own `value`, or None."""

    name: str
    row: str  # of the failure zoo (Z19), of the stream deviations (D2), or "" for plain trouble
    shows: str  # what a client sees, in a line
    make: Callable[[float | None], FaultHooks]
    formats: frozenset[str] = EVERY_FORMAT
    effect: Effect = Effect()
    value: str = ""  # what the switch's value means, where it takes one
