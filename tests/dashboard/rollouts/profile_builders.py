"""Builds profiles that meet easy gates, and requests for them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.models import Endpoint, GateVersion, Profile, RolloutRequest
from dashboard.trust import gates, profiles, rollout_requests
from dashboard.trust.settle import settle as settle_endpoint
from health.gates import PROMOTION_STAGES, Gate, Gates
from probes.outcomes import Metric
from tests.dashboard.incidents.builders import freeze_baseline
from tests.factories import make_endpoint

EASY_GATES = Gates(
    {
        stage: Gate(runs=1, full_runs=0, trials=1, rates={Metric.PARSE_SUCCESS: 0.5})
        for stage in PROMOTION_STAGES
    }
)
_MEASURED = {"trials": 12, "agree": 12, "low": 0.7, "high": 1.0, "evidence": []}
_CAPABILITIES = {
    "tool_call_format": {"value": "openai", **_MEASURED},
    "schema_level": {"value": "strict_json_schema", **_MEASURED},
    "supports_parallel_tool_use": {"value": True, **_MEASURED},
}


def ease_gates() -> GateVersion:
    """Set gates that twenty good runs meet."""
    admin, _ = User.objects.get_or_create(username="chief", is_superuser=True)
    return gates.change_gates(EASY_GATES.as_json(), by=admin, reason="small demands")


def make_ready(**over: Any) -> Endpoint:
    """Make an endpoint whose profile meets the easy gates."""
    endpoint = make_endpoint(**over)
    freeze_baseline(endpoint, before=timezone.now() - timedelta(minutes=5))
    _measure(endpoint)
    return endpoint


def make_request(endpoint: Endpoint, by: User, reason: str = "it holds") -> RolloutRequest:
    return rollout_requests.request_promotion(endpoint.profile, by=by, reason=reason)


def swap_template(endpoint: Endpoint, *, stage: str = "full") -> Profile:
    """Open a measured profile in shadow while the previous one is in force at `stage`."""
    Profile.objects.filter(endpoint=endpoint, ended_at=None).update(stage=stage)
    at = timezone.now() - timedelta(minutes=4)
    profile = profiles.open_next_profile(endpoint.profile, "b" * 64, at=at)
    freeze_baseline(endpoint, before=timezone.now() - timedelta(minutes=3))
    _measure(endpoint)
    profile.refresh_from_db()
    return profile


def _measure(endpoint: Endpoint) -> None:
    Profile.objects.filter(endpoint=endpoint, ended_at=None).update(
        capabilities=_CAPABILITIES, verified_at=timezone.now(), probe_version="tool-probe-v2"
    )
    with transaction.atomic():
        settle_endpoint(Endpoint.objects.select_for_update().get(pk=endpoint.pk))
