"""Values and steps shared by tests of the run services."""

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


def build_attempt(trial: int = 1, outcome: Outcome = Outcome.PASS, **over: Any) -> Attempt:
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


def claim_next_run(owner: str = "me") -> runs.Lease:
    lease = runs.claim_run(owner=owner)
    assert lease
    return lease


def start_next_run() -> runs.Lease:
    lease = claim_next_run()
    assert runs.start_run(lease)
    return lease


def make_endpoints_due() -> None:
    Endpoint.objects.update(next_due_at=Now())


def complete_run(*made: Attempt) -> Run:
    """Queue due runs, and finish one with these attempts."""
    make_endpoints_due()
    schedule.schedule_due()
    lease = start_next_run()
    for attempt in made or (build_attempt(),):
        attempts.record_attempt(lease, attempt)
    finish.finish_run(lease)
    return Run.objects.get(pk=lease.run_id)


def last_finished_at() -> datetime:
    moment = Run.objects.latest("id").finished_at
    assert moment
    return moment


def expire_lease(lease: runs.Lease) -> None:
    past = Now() - timedelta(seconds=1)
    Run.objects.filter(pk=lease.run_id).update(lease_expires_at=past, not_before=past)


def read_stored_verdicts() -> Iterator[Verdict]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT verdicts FROM dashboard_observation")
        for (packed,) in cursor.fetchall():
            yield from unpack_verdicts(packed)


def count_trials(suite: str) -> int:
    return len(plan_trials(suite))
