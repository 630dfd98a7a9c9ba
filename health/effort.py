"""What a run took: how long answers were waited for, and what was spent for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from probes.outcomes import Attempt, Outcome


@dataclass(frozen=True, slots=True)
class Effort:
    """Latencies are of answers that came; lost is what went into attempts that did not pass."""

    latency_p50_ms: int | None
    latency_p95_ms: int | None
    lost_tokens: int
    lost_ms: int


def measure_effort(attempts: Sequence[Attempt]) -> Effort:
    """The figures of a run, from its attempts."""
    answered = sorted(
        attempt.latency_ms
        for attempt in attempts
        if attempt.latency_ms is not None and attempt.outcome is not Outcome.VOID
    )
    lost = [attempt for attempt in attempts if attempt.outcome is not Outcome.PASS]
    tokens = (attempt.usage for attempt in lost)
    return Effort(
        latency_p50_ms=_reached_by(0.5, answered),
        latency_p95_ms=_reached_by(0.95, answered),
        lost_tokens=sum((used.input_tokens or 0) + (used.output_tokens or 0) for used in tokens),
        lost_ms=sum(attempt.latency_ms or 0 for attempt in lost),
    )


def _reached_by(share: float, ordered: Sequence[int]) -> int | None:
    """The smallest value that so many of them do not exceed; one that was measured."""
    return ordered[ceil(share * len(ordered)) - 1] if ordered else None
