"""Builders of attempts; unnamed fields have ordinary values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from probes.outcomes import Attempt, Evidence, Finding, FindingKind, Metric, Outcome, Verdict

AT = datetime(2026, 11, 16, 12, tzinfo=UTC)


def attempt(
    probe: str,
    trial: int = 1,
    *,
    outcome: Outcome = Outcome.PASS,
    findings: Sequence[FindingKind] = (),
    verdicts: Sequence[Verdict] = (),
    **over: Any,
) -> Attempt:
    """An attempt of a probe. Keywords that are no fields of an attempt become facts."""
    fields = {name: over.pop(name) for name in list(over) if name in Attempt.__slots__}
    built_findings = tuple(Finding(kind, "So it was.") for kind in findings)
    return Attempt(
        **{
            "probe": probe,
            "trial": trial,
            "outcome": outcome,
            "findings": built_findings,
            "verdicts": tuple(verdicts),
            "evidence": Evidence(),
            "started_at": AT,
            "facts": over,
            **fields,
        }
    )


def attempts_with_facts(probe: str, **facts: Sequence[Any]) -> list[Attempt]:
    """Trials 1, 2, … of a probe, each with the next value of every fact."""
    (length,) = {len(values) for values in facts.values()}
    return [
        attempt(probe, trial + 1, **{name: values[trial] for name, values in facts.items()})
        for trial in range(length)
    ]


def trials(metric: Metric, good: int, bad: int) -> list[Attempt]:
    """Attempts with this many good and bad trials of one metric."""
    verdicts = [Verdict(metric, good=True)] * good + [Verdict(metric, good=False)] * bad
    return [attempt("format", verdicts=verdicts)]
