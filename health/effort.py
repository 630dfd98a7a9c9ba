"""The effort of a run: latencies of its answers, and the tokens and time lost on failures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from probes.outcomes import Attempt, Outcome


@dataclass(frozen=True, slots=True)
class Effort:
    """Latencies cover attempts with an answer; `lost_*` covers attempts that did not pass."""

    latency_p50_ms: int | None
    latency_p95_ms: int | None
    lost_tokens: int
    lost_ms: int


def measure_effort(attempts: Sequence[Attempt]) -> Effort:
    """Compute the effort of a run from its attempts."""
    latencies = sorted(
        attempt.latency_ms
        for attempt in attempts
        if attempt.latency_ms is not None and attempt.outcome is not Outcome.VOID
    )
    lost = [attempt for attempt in attempts if attempt.outcome is not Outcome.PASS]
    tokens = (attempt.usage for attempt in lost)
    return Effort(
        latency_p50_ms=_percentile(0.5, latencies),
        latency_p95_ms=_percentile(0.95, latencies),
        lost_tokens=sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in tokens),
        lost_ms=sum(attempt.latency_ms or 0 for attempt in lost),
    )


def _percentile(share: float, ordered: Sequence[int]) -> int | None:
    """The nearest-rank percentile: always one of the measured values."""
    return ordered[ceil(share * len(ordered)) - 1] if ordered else None
