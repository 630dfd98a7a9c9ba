"""The context of the endpoint page except its chart: the parts that the end of a run can change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F
from django.utils import timezone

from dashboard.charts import endpoint_changes, run_history
from dashboard.endpoints.capability_table import read_capability_table
from dashboard.endpoints.change_attribution import attribution_text
from dashboard.endpoints.headline import read_headline
from dashboard.endpoints.summary import read_summary
from dashboard.incidents import queries as incidents
from dashboard.incidents import watch_table
from dashboard.models import Endpoint, Policy, Profile, Watch
from dashboard.policy import text as policy_text
from dashboard.rollouts import diff, stage_panel
from dashboard.rollouts.diff import ProfileDiff
from dashboard.rollouts.stage_panel import StagePanel
from health.dialect_suggestion import suggest_dialect

MAX_PROFILES = 10


def read_page_context(endpoint: Endpoint, policy: Policy | None) -> dict[str, Any]:
    """The number of queries does not depend on the length of the history."""
    # The current profile first: it is an older one if its key came back.
    current_first = F("ended_at").desc(nulls_first=True)
    profiles = list(endpoint.profiles.order_by(current_first, "-epoch")[:MAX_PROFILES])
    findings = run_history.latest_findings(endpoint)
    return {
        **read_status_context(endpoint, profiles[0], policy),
        "profiles": profiles,
        "capabilities": read_capability_table(profiles[0], _last_measured(profiles)),
        "findings": findings,
        "dialect_suggestion": suggest_dialect(
            profiles[0].provider,
            profiles[0].dialect,
            findings={finding.kind for finding in findings},
            capabilities=profiles[0].capabilities,
        ),
        **_changes_context(endpoint, profiles),
    }


def read_status_context(
    endpoint: Endpoint, profile: Profile, policy: Policy | None
) -> dict[str, Any]:
    """Status, stage and policy: the parts that a mode switch can change."""
    body = policy.body if policy else {}
    summary = read_summary(endpoint, timezone.now())
    open_incidents = incidents.read_open_incidents(profile)
    watched = watch_table.read_watch_table(endpoint, Watch.objects.state_of(profile))
    rollout = stage_panel.read_stage_panel(endpoint, profile)
    return {
        "endpoint": endpoint,
        "profile": profile,
        "summary": summary,
        "headline": read_headline(summary, profile, open_incidents),
        "trust": policy_text.describe_trust(body),
        "policy": policy,
        "policy_lines": policy_text.describe_policy(body),
        "open_incidents": open_incidents,
        "rollout": rollout,
        "profile_diff": _profile_diff(rollout, body),
        "watched": watched,
    }


def _profile_diff(rollout: StagePanel, policy: Mapping[str, Any]) -> ProfileDiff | None:
    """The profile in force beside the current one, while that awaits promotion."""
    if not rollout.has_other_in_force:
        return None
    return diff.diff_profiles(rollout.in_force, rollout.profile, policy)


def _changes_context(endpoint: Endpoint, profiles: list[Profile]) -> dict[str, Any]:
    changes = endpoint_changes.read_changes(endpoint, profiles)
    return {
        "changes": changes,
        "attribution": attribution_text(endpoint, profiles[0], changes),
    }


def _last_measured(profiles: list[Profile]) -> Profile | None:
    """The newest earlier profile with measurements."""
    return next((profile for profile in profiles[1:] if profile.capabilities), None)
