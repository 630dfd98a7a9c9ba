"""What runs took, beside how well they went: seconds, tokens, money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum

from health.translation import say


class Measure(StrEnum):
    """One chart each."""

    LATENCY = "latency"
    TOKENS = "tokens"
    COST = "cost"


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens, in some currency."""

    input: Decimal
    output: Decimal
    currency: str

    def of(self, took: Took) -> Decimal:
        return (took.input_tokens * self.input + took.output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Took:
    """What one run took; with a `step`, all runs of the time that begins at `at`.

    Latencies of several runs are the medians of theirs. None: no answer came, or nobody noted it.
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


def name_of(measure: Measure) -> str:
    """What the chart is called."""
    names = {
        Measure.LATENCY: say("Latency"),
        Measure.TOKENS: say("Tokens"),
        Measure.COST: say("Cost"),
    }
    return names[measure]


def has_data(measure: Measure, rows: Sequence[Took], price: Price | None) -> bool:
    """Whether there is anything to draw: no data is not nought."""
    if measure is Measure.LATENCY:
        return any(row.latency_p50_ms is not None for row in rows)
    return bool(rows) and (measure is Measure.TOKENS or price is not None)
