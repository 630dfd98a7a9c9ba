from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from health.effort import Effort, measure_effort
from probes.messages import Usage
from probes.outcomes import Attempt, Evidence, Outcome


def test_latencies_cover_answers_only() -> None:
    """Percentiles are measured values, and attempts without an answer do not count."""
    times = [*range(100, 2100, 100), None]
    attempts = [_attempt(latency_ms=time) for time in times]

    effort = measure_effort([*attempts, _attempt(outcome=Outcome.VOID, latency_ms=60_000)])

    assert (effort.latency_p50_ms, effort.latency_p95_ms) == (1000, 1900)


def test_tokens_and_time_of_failures_are_lost() -> None:
    """Failed and void attempts count, also where only one kind of token is reported."""
    attempts = [
        _attempt(latency_ms=10, usage=Usage(input_tokens=1000, output_tokens=1000)),
        _attempt(Outcome.FAIL, latency_ms=300, usage=Usage(input_tokens=7, output_tokens=5)),
        _attempt(Outcome.VOID, latency_ms=2000, usage=Usage(input_tokens=None, output_tokens=3)),
        _attempt(Outcome.VOID),
    ]

    effort = measure_effort(attempts)

    assert (effort.lost_tokens, effort.lost_ms) == (15, 2300)


def test_a_run_without_an_answer_has_no_latency() -> None:
    """No data is not zero."""
    assert measure_effort([]) == Effort(None, None, 0, 0)


def _attempt(outcome: Outcome = Outcome.PASS, **over: Any) -> Attempt:
    return Attempt(
        probe="format",
        trial=1,
        outcome=outcome,
        findings=(),
        verdicts=(),
        evidence=Evidence(),
        started_at=datetime(2026, 11, 3, tzinfo=UTC),
        **over,
    )
