"""Profiles that may ask for their next stage, people who ask and decide, and incidents."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.models import AuditEntry, Endpoint, Incident, Notice, Profile, Run, RunMetric
from dashboard.models.run import State
from dashboard.models.watch import Lane
from dashboard.trust import detection, rollout_requests
from dashboard.trust.policy_renewal import current_policy
from dashboard.trust.settle import settle
from health.gates import DEFAULTS
from health.severity import Severity
from health.watch import ChangeKind, WatchChange, WatchedRun
from probes.outcomes import Metric
from probes.suite import SUITE_VERSION
from tests.dashboard.policy.builders import trusted
from tests.factories import make_run
from tests.security.people import AuditStart

GATED = (Metric.PARSE_SUCCESS, Metric.SCHEMA_FAILURE, Metric.CLOSURE_ERROR)
LONG_AGO = timedelta(hours=100)


def ready(stage: str = "shadow", *, runs: int = 1, **over: Any) -> Endpoint:
    """An endpoint at a stage, with runs that meet every condition of the next one."""
    endpoint = trusted(**over)
    Profile.objects.filter(endpoint=endpoint).update(stage=stage, stage_at=Now() - LONG_AGO)
    for _ in range(runs):
        measure(endpoint)
    resolve(endpoint)
    return endpoint


def measure(endpoint: Endpoint, *, trials: int = 60, failures: int = 0) -> Run:
    """A finished full run of the present profile, as far as figures are concerned."""
    at = timezone.now()
    run = make_run(endpoint, state=State.FINISHED, suite="full", finished_at=at, due_at=at)
    RunMetric.objects.bulk_create(
        RunMetric(
            run=run,
            profile=run.profile,
            metric=metric.value,
            trials=trials,
            failures=failures,
            watched_trials=trials,
            watched_failures=failures,
            finished_at=at,
        )
        for metric in GATED
    )
    return run


def resolve(endpoint: Endpoint) -> None:
    with transaction.atomic():
        settle(Endpoint.objects.select_for_update().get(pk=endpoint.pk))


@transaction.atomic
def degrade(
    profile: Profile,
    severity: int,
    *,
    kind: ChangeKind = ChangeKind.OPENED,
    metric: Metric = Metric.PARSE_SUCCESS,
) -> Incident:
    """Let the watch find a degradation, with all that follows in its transaction."""
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    figures = {"trials": 10, "failures": 8, "baseline": [240, 240, 20], "estimate": 0.2}
    seen = WatchedRun(1 + Incident.objects.count(), timezone.now(), SUITE_VERSION, endpoint.ttl, {})
    change = WatchChange(kind, metric, Severity(severity), figures)
    detection.follow_changes(profile, Lane.PROBE, seen, [change])
    settle(endpoint)
    return Incident.objects.get(profile=profile, metric=metric.value, ended_at=None)


def put_in_place(profile: Profile) -> None:
    """As if somebody had measured it well enough, at length."""
    before = Profile.objects.get(endpoint=profile.endpoint_id, epoch=profile.epoch - 1)
    Profile.objects.filter(pk=profile.pk).update(
        capabilities=before.capabilities, verified_at=Now(), stage_at=Now() - LONG_AGO
    )
    watch = before.watches.get(lane=Lane.PROBE)
    same = {"state": watch.state, "known": watch.known}
    profile.watches.update_or_create(lane=Lane.PROBE, defaults=same)
    measure(profile.endpoint)


def other_gates(**over: Any) -> dict[str, Any]:
    """The default gates, with another one in front of the first stage."""
    found = DEFAULTS.as_json()
    return {**found, "read_only": {**found["read_only"], **over}}


def body(endpoint: Endpoint) -> dict[str, Any]:
    policy = current_policy(endpoint.slug)
    assert policy is not None
    found: dict[str, Any] = policy.body
    return found


def stage(profile: Profile) -> str:
    return Profile.objects.get(pk=profile.pk).stage


def audited(prefix: str = "") -> list[str]:
    """What was written down since the test began: entries of other tests cannot be taken out."""
    # That there is an endpoint is where these tests begin.
    mine = AuditEntry.objects.filter(id__gt=AuditStart.last).exclude(action="endpoint.created")
    entries = mine.order_by("id").values_list("action", flat=True)
    return [action for action in entries if action.startswith(prefix)]


def noticed(prefix: str = "") -> list[str]:
    kinds = Notice.objects.order_by("id").values_list("kind", flat=True)
    return [kind for kind in kinds if kind.startswith(prefix)]


def missing(profile: Profile) -> list[str]:
    return [condition.key for condition in rollout_requests.standing(profile).missing]
