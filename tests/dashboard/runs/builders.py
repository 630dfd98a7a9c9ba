"""Values and steps that tests of the services share."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models.functions import Now

from dashboard.models import Endpoint, Run
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from dashboard.trust import finish
from health.observation_bits import unpack_verdicts
from probes.messages import Usage
from probes.outcomes import Attempt, Evidence, Finding, FindingKind, Metric, Outcome, Verdict
from probes.suite import plan_trials


def attempt(trial: int = 1, outcome: Outcome = Outcome.PASS, **over: Any) -> Attempt:
    good = outcome is Outcome.PASS
    verdicts = (
        (Verdict(Metric.AVAILABILITY, good=False),)
        if outcome is Outcome.VOID
        else (Verdict(Metric.AVAILABILITY, good=True), Verdict(Metric.PARSE_SUCCESS, good=good))
    )
    fields = {
        "probe": "format",
        "trial": trial,
        "outcome": outcome,
        "findings": () if good else (Finding(FindingKind.NO_CALL, "No call came."),),
        "verdicts": verdicts,
        "evidence": Evidence(({"label": "asked", "request": {"trial": trial}},)),
        "started_at": datetime.now(UTC),
        "usage": Usage(10, 5),
        "latency_ms": 100,
    }
    return Attempt(**{**fields, **over})


def claimed(owner: str = "me") -> runs.Lease:
    """The lease of the most urgent run."""
    lease = runs.claim(owner=owner)
    assert lease
    return lease


def started() -> runs.Lease:
    """The lease of the most urgent run, which has begun."""
    lease = claimed()
    assert runs.start(lease)
    return lease


def due_now() -> None:
    Endpoint.objects.update(next_due_at=Now())


def carry_through(*made: Attempt) -> Run:
    """Queue what is due and let one run find these attempts."""
    due_now()
    schedule.schedule_due()
    lease = started()
    for one in made or (attempt(),):
        attempts.record(lease, one)
    finish.finish_run(lease)
    return Run.objects.get(pk=lease.run_id)


def ended_at() -> datetime:
    moment = Run.objects.latest("id").finished_at
    assert moment
    return moment


def expire(lease: runs.Lease) -> None:
    past = Now() - timedelta(seconds=1)
    Run.objects.filter(pk=lease.run_id).update(lease_expires_at=past, not_before=past)


def observed() -> Iterator[Verdict]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT verdicts FROM dashboard_observation")
        for (packed,) in cursor.fetchall():
            yield from unpack_verdicts(packed)


def pieces(suite: str) -> int:
    """How many attempts a suite asks for."""
    return len(plan_trials(suite))
