"""The attempts that an incident rests on: what failed in the runs that raised it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dashboard.models import Attempt, Incident, Run, RunMetric
from dashboard.models.watch import Lane
from probes.outcomes import Metric, Outcome

# Runs before the one that opened it, and attempts of all of them.
MOST_RUNS = 6
MOST = 40
# A fall shows in the runs of these days; older failures are another story.
SINCE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Failed:
    """One attempt that went badly."""

    run_id: int
    probe: str
    trial: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, and the attempts in which it was; the newest run comes first."""

    kind: str
    message: str
    failed: tuple[Failed, ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What failed; `runs` with failures raised the incident, and some of it may be gone."""

    runs: tuple[Run, ...]
    findings: tuple[Finding, ...]
    more: bool = False


def read(incident: Incident) -> Evidence | None:
    """None for live traffic, which leaves no attempts. Two queries."""
    if incident.lane != Lane.PROBE:
        return None
    runs = _runs(incident)
    attempts = _attempts(runs, Metric(incident.metric))
    return Evidence(tuple(runs), _findings(attempts[:MOST]), len(attempts) > MOST)


def _runs(incident: Incident) -> list[Run]:
    """The runs with failures up to the one that opened it, the newest first."""
    raised = RunMetric.objects.filter(
        profile=incident.profile_id,
        metric=incident.metric,
        run_id__lte=incident.opened_by,
        finished_at__gte=incident.opened_at - SINCE,
        failures__gt=0,
    )
    newest = raised.select_related("run").order_by("-finished_at", "-run_id")[:MOST_RUNS]
    return [row.run for row in newest]


def _attempts(runs: Sequence[Run], metric: Metric) -> list[Attempt]:
    if not runs:
        return []
    found = Attempt.objects.filter(
        run_id__in=[run.pk for run in runs],
        run_at__in=[run.created_at for run in runs],
        verdicts__contains=[[metric.value, False]],
    ).exclude(outcome=Outcome.PASS.value)
    return list(found.order_by("-run_id", "probe", "trial")[: MOST + 1])


def _findings(attempts: Sequence[Attempt]) -> tuple[Finding, ...]:
    """The same finding of many attempts once, the most frequent first."""
    found: dict[tuple[str, str], list[Failed]] = defaultdict(list)
    for attempt in attempts:
        first: dict[str, Any] = attempt.findings[0] if attempt.findings else {}
        told = str(first.get("kind", "")), str(first.get("message", ""))
        found[told].append(Failed(attempt.run_id, attempt.probe, attempt.trial))
    ordered = sorted(found.items(), key=lambda each: -len(each[1]))
    return tuple(Finding(kind, message, tuple(failed)) for (kind, message), failed in ordered)
