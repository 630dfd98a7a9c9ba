"""Latency, tokens and cost of runs, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from health.translation import say


class Measure(StrEnum):
    LATENCY = "latency"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """Per million tokens."""

    input: Decimal
    output: Decimal
    currency: str

    def cost_of(self, run: RunCost) -> Decimal:
        return (run.input_tokens * self.input + run.output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class RunCost:
    """One run; with a `step`, all runs of the time step that begins at `at`.

    Latencies of several runs are medians. None: no answer, or not recorded.
    """

    at: datetime
    epoch: int
    epoch_since: datetime
    latency_p50_ms: int | None
    latency_p95_ms: int | None
    input_tokens: int
    output_tokens: int
    lost_tokens: int | None = None
    lost_ms: int | None = None
    runs: int = 1
    run_id: int | None = None
    step: timedelta | None = None

    @property
    def lost_s(self) -> float | None:
        return None if self.lost_ms is None else self.lost_ms / 1000


def measure_name(measure: Measure) -> str:
    names = {
        Measure.LATENCY: say("Latency"),
        Measure.TOKENS: say("Tokens"),
        Measure.COST: say("Cost"),
    }
    return names[measure]


def has_data(measure: Measure, rows: Sequence[RunCost], price: TokenPrice | None) -> bool:
    """Whether there is anything to draw: no data is not 0."""
    if measure is Measure.LATENCY:
        return any(row.latency_p50_ms is not None for row in rows)
    return bool(rows) and (measure is Measure.TOKENS or price is not None)
