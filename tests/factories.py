"""Rows for tests, as plain functions: every argument has an ordinary default."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import zstandard
from django.contrib.auth.models import User
from django.db.models import F
from django.utils import timezone

from dashboard.core import partitions
from dashboard.endpoints.services import endpoints
from dashboard.models import Attempt, Endpoint, Evidence, RollupDay, RollupHour, Run, RunMetric
from dashboard.models.people import Grant, Role, Team
from dashboard.models.run import State, Trigger
from dashboard.runs.observations import PROBE
from health.observation_bits import PLACES
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION


def make_person(
    name: str, *roles: Role, team: Team | None = None, password: str | None = None
) -> User:
    """A person with those roles, everywhere or in one team; without a role, no rights."""
    person = User.objects.create_user(name, password=password)
    Grant.objects.bulk_create(Grant(person=person, team=team, role=role) for role in roles)
    return person


def make_endpoint(**over: Any) -> Endpoint:
    fields: dict[str, Any] = {
        "slug": "steady",
        "provider": "openai",
        "base_url": "http://127.0.0.1:9/v1",
        "model": "m-1",
        "options": {},
        "ttl": timedelta(hours=6),
        "max_concurrency": 2,
        "enabled": True,
        "key": None,
    }
    return endpoints.create(**{**fields, **over})


def make_run(endpoint: Endpoint, **over: Any) -> Run:
    """A queued run by default."""
    profile = endpoint.profile
    fields: dict[str, Any] = {
        "profile": profile,
        "provider": profile.provider,
        "key_epoch": profile.epoch,
        "trigger": Trigger.TTL,
        "due_at": timezone.now(),
        "suite": "light",
        "suite_version": SUITE_VERSION,
        "seed": 7,
        "planned": 5,
        "state": State.QUEUED,
    }
    run = Run.objects.create(endpoint=endpoint, **{**fields, **over})
    run.refresh_from_db()
    return run


def make_finished_run(
    endpoint: Endpoint,
    *,
    passed: int = 5,
    failed: int = 0,
    void: int = 0,
    at: datetime | None = None,
    **over: Any,
) -> Run:
    """An ended run with its figures; without a pass or a failure it has no verdict."""
    at = at or timezone.now()
    trials = passed + failed
    figures = {"passed": passed, "failed": failed, "void": void, "planned": trials + void}
    times = {"started_at": at - timedelta(seconds=3), "finished_at": at, "due_at": at}
    state = State.FINISHED if trials else State.FAILED
    run = make_run(endpoint, **{"state": state, **figures, **times, **over})
    if trials:
        RunMetric.objects.create(
            run=run,
            profile=run.profile,
            metric="parse_success",
            trials=trials,
            failures=failed,
            finished_at=at,
        )
    return run


def make_attempt(run: Run, *, trial: int = 1, evidence: Any = None, **over: Any) -> Attempt:
    """A stored attempt of a run, with evidence if given."""
    fields: dict[str, Any] = {
        "probe": "format",
        "token": 1,
        "outcome": "pass",
        "findings": [],
        "verdicts": [["parse_success", True]],
        "http_status": 200,
        "latency_ms": 120,
        "fingerprint": {},
        "started_at": timezone.now(),
        "created_at": timezone.now(),
        "evidence_sha256": _store(evidence, run) if evidence is not None else None,
    }
    Run.objects.filter(pk=run.pk).update(done=F("done") + 1)
    return Attempt.objects.create(run=run, trial=trial, run_at=run.created_at, **{**fields, **over})


def _store(evidence: Any, run: Run) -> bytes:
    body = json.dumps(evidence).encode()
    digest = hashlib.sha256(body).digest()
    Evidence.objects.create(
        sha256=digest,
        month=run.created_at.astimezone(UTC).date().replace(day=1),
        body=zstandard.compress(body),
        size=len(body),
        created_at=timezone.now(),
    )
    return digest


def make_rollup(
    endpoint: Endpoint,
    at: datetime,
    *,
    trials: int,
    failures: int,
    lane: int = PROBE,
    table: type[RollupHour | RollupDay] = RollupHour,
) -> None:
    """Parse success of an hour or a day, as the rollup of its runs."""
    # Last month's partitions exist only if the product ran then.
    partitions.ensure_months([at.date()], parents=partitions.ROLLUPS)
    table.objects.create(
        profile_id=endpoint.profile.pk,
        metric=PLACES[Metric.PARSE_SUCCESS],
        lane=lane,
        bucket=at.replace(minute=0, second=0, microsecond=0),
        trials=trials,
        failures=failures,
    )
