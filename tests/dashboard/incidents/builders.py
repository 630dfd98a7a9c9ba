"""Endpoints with a watched past: every incident here was opened by the detector itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dashboard.models import Endpoint, Incident, Run, RunMetric
from dashboard.models import Watch as WatchRow
from dashboard.models.watch import Lane
from dashboard.trust import detection
from health.watch import MetricCount, Watch, WatchChange, WatchedRun, follow_run
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION
from tests.factories import make_finished_run

TRIALS = 10
_METRIC = Metric.PARSE_SUCCESS


def watch_run(
    endpoint: Endpoint, failures: int, *, at: datetime, trigger: str = "ttl", refused: int = 0
) -> Run:
    """A run that the watch has seen; `refused` of its failures were refusals by the endpoint."""
    passed = TRIALS - failures
    run = make_finished_run(
        endpoint, passed=passed, failed=failures, at=at, trigger=trigger, every=endpoint.ttl
    )
    counts = {"watched_trials": TRIALS, "watched_failures": failures, "refused": refused}
    RunMetric.objects.filter(run=run).update(**counts)
    detection.follow_run(run, endpoint.profile)
    return run


def settle(endpoint: Endpoint, *, before: datetime | None = None) -> datetime:
    """Twenty good runs: the baseline is frozen. Returns when the next run may come."""
    end, profile = before or timezone.now() - timedelta(days=2), endpoint.profile
    times = [end - timedelta(hours=hours) for hours in range(20, 0, -1)]
    watch = Watch()
    changes: list[WatchChange] = []
    for run in _store(endpoint, times):
        seen = WatchedRun(
            run.pk, run.due_at, SUITE_VERSION, endpoint.ttl, {_METRIC: MetricCount(TRIALS, 0)}
        )
        watch, changes = follow_run(watch, seen)
    detection.apply_changes(profile, Lane.PROBE, seen, changes)
    detection._store_watch(WatchRow.objects.create(profile=profile, lane=Lane.PROBE), watch)
    return end


def _store(endpoint: Endpoint, times: list[datetime]) -> list[Run]:
    """All at once: a past takes as long as the test that looks at it otherwise."""
    profile = endpoint.profile
    same: dict[str, Any] = {
        "endpoint": endpoint,
        "profile": profile,
        "key_epoch": 1,
        "trigger": "ttl",
        "seed": 7,
    }
    same |= {"suite": "light", "suite_version": SUITE_VERSION, "planned": TRIALS}
    same |= {"state": "finished", "passed": TRIALS, "every": endpoint.ttl}
    runs = Run.objects.bulk_create(Run(due_at=at, finished_at=at, **same) for at in times)
    figures: dict[str, Any] = {
        "metric": _METRIC.value,
        "trials": TRIALS,
        "failures": 0,
        "watched_trials": TRIALS,
    }
    RunMetric.objects.bulk_create(
        RunMetric(run=run, profile=profile, finished_at=run.due_at, **figures) for run in runs
    )
    return runs


def degrade(endpoint: Endpoint, *, failures: int = TRIALS, runs: int = 2) -> Incident:
    """Bad runs after good ones, until there is an incident."""
    at = settle(endpoint)
    for hours in range(runs):
        watch_run(endpoint, failures, at=at + timedelta(hours=hours), trigger="confirm")
    return Incident.objects.get(profile__endpoint=endpoint, ended_at=None)
