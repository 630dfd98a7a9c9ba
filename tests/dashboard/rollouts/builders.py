"""Builds profiles that meet their gates, runs and incidents, and reads what was recorded."""

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
from tests.dashboard.policy.builders import make_trusted_endpoint
from tests.factories import make_run
from tests.security.people import AuditStart

GATED = tuple(DEFAULTS.by_stage["read_only"].rates)
LONG_AGO = timedelta(hours=100)


def make_ready_endpoint(stage: str = "shadow", *, runs: int = 1, **over: Any) -> Endpoint:
    """Make an endpoint at a stage, with runs that meet every condition of the next one."""
    endpoint = make_trusted_endpoint(**over)
    Profile.objects.filter(endpoint=endpoint).update(stage=stage, stage_at=Now() - LONG_AGO)
    for _ in range(runs):
        measure(endpoint)
    settle_endpoint(endpoint)
    return endpoint


def measure(endpoint: Endpoint, *, trials: int = 60, failures: int = 0) -> Run:
    """Record a finished full run of the current profile, without attempts."""
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


def settle_endpoint(endpoint: Endpoint) -> None:
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
    """Report a degradation as the watch does, with its consequences in one transaction."""
    endpoint = Endpoint.objects.select_for_update().get(pk=profile.endpoint_id)
    figures = {"trials": 10, "failures": 8, "baseline": [240, 240, 20], "estimate": 0.2}
    watched = WatchedRun(
        1 + Incident.objects.count(), timezone.now(), SUITE_VERSION, endpoint.ttl, {}
    )
    change = WatchChange(kind, metric, Severity(severity), figures)
    detection.apply_changes(profile, Lane.PROBE, watched, [change])
    settle(endpoint)
    return Incident.objects.get(profile=profile, metric=metric.value, ended_at=None)


def make_profile_ready(profile: Profile) -> None:
    """Give a profile the results of the one before, long enough ago to meet its gate."""
    previous = Profile.objects.get(endpoint=profile.endpoint_id, epoch=profile.epoch - 1)
    Profile.objects.filter(pk=profile.pk).update(
        capabilities=previous.capabilities, verified_at=Now(), stage_at=Now() - LONG_AGO
    )
    watch = previous.watches.get(lane=Lane.PROBE)
    defaults = {"state": watch.state, "known": watch.known}
    profile.watches.update_or_create(lane=Lane.PROBE, defaults=defaults)
    measure(profile.endpoint)


def other_gates(**over: Any) -> dict[str, Any]:
    """The default gates with other conditions for the first stage."""
    gates = DEFAULTS.as_json()
    return {**gates, "read_only": {**gates["read_only"], **over}}


def policy_body(endpoint: Endpoint) -> dict[str, Any]:
    policy = current_policy(endpoint.slug)
    assert policy is not None
    body: dict[str, Any] = policy.body
    return body


def read_stage(profile: Profile) -> str:
    return Profile.objects.get(pk=profile.pk).stage


def audit_actions(prefix: str = "") -> list[str]:
    """The actions since the test began: audit entries of other tests cannot be deleted."""
    # Every test creates an endpoint, so that action says nothing.
    recorded = AuditEntry.objects.filter(id__gt=AuditStart.last).exclude(action="endpoint.created")
    actions = recorded.order_by("id").values_list("action", flat=True)
    return [action for action in actions if action.startswith(prefix)]


def notice_kinds(prefix: str = "") -> list[str]:
    kinds = Notice.objects.order_by("id").values_list("kind", flat=True)
    return [kind for kind in kinds if kind.startswith(prefix)]


def missing_conditions(profile: Profile) -> list[str]:
    return [condition.key for condition in rollout_requests.read_gate_result(profile).missing]
