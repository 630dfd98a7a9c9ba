"""Builds trusted endpoints, reads their policies, and moves them into the past."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from dashboard.models import Endpoint, ModeSwitch, Policy, Profile, Watch
from dashboard.trust.policy_renewal import current_policy
from dashboard.trust.settle import settle
from health import watch as watching
from health.detector import PROBE, Baseline
from probes.outcomes import Metric
from tests.factories import make_endpoint

MEASURED = {
    "schema_level": "strict_json_schema",
    "tool_call_format": "openai",
    "parser": None,
    "supports_parallel_tool_use": True,
    "reasoning_replay": "tolerated",
    "supports_streaming_tool_use": True,
    "streaming": "works",
    "deviations": [],
    "error_repair": "reliable",
    "tool_choice": ["auto", "none"],
    "trimmed_history": "taken",
}
FROZEN = watching.accept_baseline(watching.Watch(), Metric.PARSE_SUCCESS, Baseline(240, 240, 20))


def make_trusted_endpoint(**over: Any) -> Endpoint:
    """Make an endpoint that was measured, is at the full stage and has no modes on."""
    endpoint = make_endpoint(**over)
    profile = endpoint.profile
    measured = {name: {"value": value, "trials": 9} for name, value in MEASURED.items()}
    Profile.objects.filter(pk=profile.pk).update(
        stage="full", capabilities=measured, verified_at=Now()
    )
    known = FROZEN.gauge(Metric.PARSE_SUCCESS).known(PROBE).value
    Watch.objects.create(profile=profile, state=FROZEN.as_json(), known=known)
    resolve_policy(endpoint)
    return endpoint


def resolve_policy(endpoint: Endpoint) -> None:
    with transaction.atomic():
        settle(Endpoint.objects.select_for_update().get(pk=endpoint.pk))


def read_policy(endpoint: Endpoint) -> Policy:
    policy = current_policy(endpoint.slug)
    assert policy is not None
    return policy


def effective_modes(endpoint: Endpoint) -> list[str]:
    modes: list[str] = read_policy(endpoint).body["modes"]["effective"]
    return modes


def move_into_past(time: timedelta) -> None:
    """Move everything that policies depend on into the past, as if that time had passed."""
    Profile.objects.update(verified_at=F("verified_at") - time, created_at=F("created_at") - time)
    ModeSwitch.objects.update(expires_at=F("expires_at") - time)
    Policy.objects.update(good_until=F("good_until") - time)
