from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from health.effort import Effort, measure_effort
from probes.messages import Usage
from probes.outcomes import Attempt, Evidence, Outcome


def test_latencies_are_of_answers_that_came() -> None:
    """A time that was measured, never one in between; what never answered is not fast."""
    times = [*range(100, 2100, 100), None]
    attempts = [_attempt(latency_ms=time) for time in times]

    found = measure_effort([*attempts, _attempt(outcome=Outcome.VOID, latency_ms=60_000)])

    assert (found.latency_p50_ms, found.latency_p95_ms) == (1000, 1900)


def test_what_did_not_pass_is_lost() -> None:
    """Tokens and time of failures and of void attempts, also where only one of them is told."""
    attempts = [
        _attempt(latency_ms=10, usage=Usage(input_tokens=1000, output_tokens=1000)),
        _attempt(Outcome.FAIL, latency_ms=300, usage=Usage(input_tokens=7, output_tokens=5)),
        _attempt(Outcome.VOID, latency_ms=2000, usage=Usage(input_tokens=None, output_tokens=3)),
        _attempt(Outcome.VOID),
    ]

    found = measure_effort(attempts)

    assert (found.lost_tokens, found.lost_ms) == (15, 2300)


def test_a_run_without_an_answer_has_no_latency() -> None:
    """No data is not nought."""
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
