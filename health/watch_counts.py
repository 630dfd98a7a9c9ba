"""The watched attempts of a run: only probes that every suite contains, so that runs compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

from health.capabilities import settle_verdicts
from health.rates import Rate
from health.run_report import compute_rates
from probes.outcomes import Attempt, FindingKind, Metric
from probes.suite import plan_trials

# Every failure of these metrics is a refusal by the endpoint.
_REFUSALS = (Metric.CLOSURE_ERROR, Metric.REASONING_REPLAY_ERROR)


def watched_rates(attempts: Sequence[Attempt], parser: str | None) -> dict[Metric, Rate]:
    """The rates over the probes that every suite contains; the others are harder or easier."""
    return compute_rates(settle_verdicts(_watched_attempts(attempts), parser))


def count_refusals(attempts: Sequence[Attempt]) -> Counter[Metric]:
    """How many of the watched trials the endpoint refused, per metric."""
    watched = _watched_attempts(attempts)
    refusals = Counter(
        verdict.metric
        for attempt in watched
        for verdict in attempt.verdicts
        if verdict.metric in _REFUSALS and not verdict.good
    )
    refusals[Metric.PARSE_SUCCESS] = sum(_has_no_tools(attempt) for attempt in watched)
    return refusals


def _watched_attempts(attempts: Sequence[Attempt]) -> list[Attempt]:
    return [attempt for attempt in attempts if attempt.probe in _light_suite_probes()]


def _has_no_tools(attempt: Attempt) -> bool:
    return any(finding.kind is FindingKind.NO_TOOLS for finding in attempt.findings)


@cache
def _light_suite_probes() -> frozenset[str]:
    return frozenset(trial.probe for trial in plan_trials("light"))
