"""The evidence of an incident: attempts that failed in the runs that raised it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dashboard.models import Attempt, Incident, Run, RunMetric
from dashboard.models.watch import Lane
from probes.outcomes import Metric, Outcome

# Limits of the runs up to the one that opened it, and of the attempts of all of them.
MAX_RUNS = 6
MAX_ATTEMPTS = 40
# Older failures are unrelated to the incident.
LOOK_BACK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    run_id: int
    probe: str
    trial: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding with the attempts that have it, newest run first."""

    kind: str
    message: str
    attempts: tuple[FailedAttempt, ...]


@dataclass(frozen=True, slots=True)
class IncidentEvidence:
    """The runs with failures that raised the incident; their attempts may be deleted by now."""

    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    has_more: bool = False


def read_evidence(incident: Incident) -> IncidentEvidence | None:
    """Read the evidence in two queries; None for live traffic, which stores no attempts."""
    if incident.lane != Lane.PROBE:
        return None
    runs = _failing_runs(incident)
    attempts = _failed_attempts(runs, Metric(incident.metric))
    return IncidentEvidence(
        tuple(runs), _group_findings(attempts[:MAX_ATTEMPTS]), len(attempts) > MAX_ATTEMPTS
    )


def _failing_runs(incident: Incident) -> list[Run]:
    """The runs with failures up to the one that opened it, newest first."""
    failing = RunMetric.objects.filter(
        profile=incident.profile_id,
        metric=incident.metric,
        run_id__lte=incident.opened_by,
        finished_at__gte=incident.opened_at - LOOK_BACK,
        failures__gt=0,
    )
    newest = failing.select_related("run").order_by("-finished_at", "-run_id")[:MAX_RUNS]
    return [row.run for row in newest]


def _failed_attempts(runs: Sequence[Run], metric: Metric) -> list[Attempt]:
    if not runs:
        return []
    attempts = Attempt.objects.filter(
        run_id__in=[run.pk for run in runs],
        run_at__in=[run.created_at for run in runs],
        verdicts__contains=[[metric.value, False]],
    ).exclude(outcome=Outcome.PASS.value)
    return list(attempts.order_by("-run_id", "probe", "trial")[: MAX_ATTEMPTS + 1])


def _group_findings(attempts: Sequence[Attempt]) -> tuple[Finding, ...]:
    """The first findings of the attempts, grouped, most frequent first."""
    groups: dict[tuple[str, str], list[FailedAttempt]] = defaultdict(list)
    for attempt in attempts:
        first: dict[str, Any] = attempt.findings[0] if attempt.findings else {}
        key = str(first.get("kind", "")), str(first.get("message", ""))
        groups[key].append(FailedAttempt(attempt.run_id, attempt.probe, attempt.trial))
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return tuple(Finding(kind, message, tuple(failed)) for (kind, message), failed in ordered)
