"""Endpoints that are trusted, and time that has gone by, for tests of policies."""

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
    "error_repair": "reliable",
    "tool_choice": ["auto", "none"],
    "trimmed_history": "taken",
}
FROZEN = watching.accept_baseline(watching.Watch(), Metric.PARSE_SUCCESS, Baseline(240, 240, 20))


def trusted(**over: Any) -> Endpoint:
    """An endpoint that was measured, is in full use and is held back by nothing."""
    endpoint = make_endpoint(**over)
    profile = endpoint.profile
    measured = {name: {"value": value, "trials": 9} for name, value in MEASURED.items()}
    Profile.objects.filter(pk=profile.pk).update(
        stage="full", capabilities=measured, verified_at=Now()
    )
    known = FROZEN.gauge(Metric.PARSE_SUCCESS).known(PROBE).value
    Watch.objects.create(profile=profile, state=FROZEN.as_json(), known=known)
    resolve(endpoint)
    return endpoint


def resolve(endpoint: Endpoint) -> None:
    with transaction.atomic():
        settle(Endpoint.objects.select_for_update().get(pk=endpoint.pk))


def current(endpoint: Endpoint) -> Policy:
    policy = current_policy(endpoint.slug)
    assert policy is not None
    return policy


def effective(endpoint: Endpoint) -> list[str]:
    modes: list[str] = current(endpoint).body["modes"]["effective"]
    return modes


def let_pass(time: timedelta) -> None:
    """Move everything that policies look at into the past, as if that time had gone by."""
    Profile.objects.update(verified_at=F("verified_at") - time, created_at=F("created_at") - time)
    ModeSwitch.objects.update(expires_at=F("expires_at") - time)
    Policy.objects.update(good_until=F("good_until") - time)
