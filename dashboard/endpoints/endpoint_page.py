"""What the page of an endpoint says around its chart: all that the end of a run may change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from dashboard.charts import endpoint_changes, run_history
from dashboard.endpoints import capability_table, change_attribution, headline
from dashboard.endpoints.summary import read_summary
from dashboard.incidents import queries as incidents
from dashboard.incidents import watch_table
from dashboard.models import Endpoint, Policy, Profile, Watch
from dashboard.policy import text as policy_words
from dashboard.rollouts import diff, stage_panel
from dashboard.rollouts.diff import Two
from dashboard.rollouts.stage_panel import Panel

MOST_PROFILES = 10


def context(endpoint: Endpoint, policy: Policy | None) -> dict[str, Any]:
    """As many queries for a long past as for a short one."""
    profiles = list(endpoint.profiles.order_by("-epoch")[:MOST_PROFILES])
    return {
        **standing(endpoint, profiles[0], policy),
        "profiles": profiles,
        "capabilities": capability_table.read(profiles[0], _earlier(profiles)),
        "findings": run_history.latest_findings(endpoint),
        **_changes(endpoint, profiles),
    }


def standing(endpoint: Endpoint, profile: Profile, policy: Policy | None) -> dict[str, Any]:
    """How it stands now and what it may be trusted with: all that a switched mode may change."""
    body = policy.body if policy else {}
    summary = read_summary(endpoint, timezone.now())
    opened = incidents.read_open_incidents(profile)
    watched = watch_table.read_watch_table(endpoint, Watch.objects.state_of(profile))
    rollout = stage_panel.read(endpoint, profile)
    return {
        "endpoint": endpoint,
        "profile": profile,
        "summary": summary,
        "headline": headline.headline(summary, profile, opened),
        "trust": policy_words.describe_trust(body),
        "policy": policy,
        "policy_lines": policy_words.describe_policy(body),
        "open_incidents": opened,
        "rollout": rollout,
        "two": _two(rollout, body),
        "watched": watched,
    }


def _two(rollout: Panel, policy: Mapping[str, Any]) -> Two | None:
    """Both profiles side by side, while the present one waits to be promoted."""
    if not rollout.waits_beside:
        return None
    return diff.beside(rollout.in_force, rollout.profile, policy)


def _changes(endpoint: Endpoint, profiles: list[Profile]) -> dict[str, Any]:
    found = endpoint_changes.read_changes(endpoint, profiles)
    return {
        "changes": found,
        "who_changed": change_attribution.sentence(endpoint, profiles[0], found),
    }


def _earlier(profiles: list[Profile]) -> Profile | None:
    """The profile before this one that was measured."""
    return next((profile for profile in profiles[1:] if profile.capabilities), None)
