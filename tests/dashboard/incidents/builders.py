"""Builds endpoints with watched runs; the detector itself opens every incident."""

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
    """Make a run that the watch follows; `refused` of its failures are refusals."""
    passed = TRIALS - failures
    run = make_finished_run(
        endpoint, passed=passed, failed=failures, at=at, trigger=trigger, every=endpoint.ttl
    )
    counts = {"watched_trials": TRIALS, "watched_failures": failures, "refused": refused}
    RunMetric.objects.filter(run=run).update(**counts)
    detection.follow_run(run, endpoint.profile)
    return run


def freeze_baseline(endpoint: Endpoint, *, before: datetime | None = None) -> datetime:
    """Freeze the baseline with twenty good runs; returns when the next run can be."""
    end, profile = before or timezone.now() - timedelta(days=2), endpoint.profile
    times = [end - timedelta(hours=hours) for hours in range(20, 0, -1)]
    watch = Watch()
    changes: list[WatchChange] = []
    for run in _store_runs(endpoint, times):
        watched_run = WatchedRun(
            run.pk, run.due_at, SUITE_VERSION, endpoint.ttl, {_METRIC: MetricCount(TRIALS, 0)}
        )
        watch, changes = follow_run(watch, watched_run)
    detection.apply_changes(profile, Lane.PROBE, watched_run, changes)
    detection._store_watch(WatchRow.objects.create(profile=profile, lane=Lane.PROBE), watch)
    return end


def _store_runs(endpoint: Endpoint, times: list[datetime]) -> list[Run]:
    """Store the runs in bulk, because one at a time takes longer than the test."""
    profile = endpoint.profile
    fields: dict[str, Any] = {
        "endpoint": endpoint,
        "profile": profile,
        "key_epoch": 1,
        "trigger": "ttl",
        "seed": 7,
    }
    fields |= {"suite": "light", "suite_version": SUITE_VERSION, "planned": TRIALS}
    fields |= {"state": "finished", "passed": TRIALS, "every": endpoint.ttl}
    runs = Run.objects.bulk_create(Run(due_at=at, finished_at=at, **fields) for at in times)
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
    """Make bad runs after good ones, until an incident is open."""
    at = freeze_baseline(endpoint)
    for hours in range(runs):
        watch_run(endpoint, failures, at=at + timedelta(hours=hours), trigger="confirm")
    return Incident.objects.get(profile__endpoint=endpoint, ended_at=None)
