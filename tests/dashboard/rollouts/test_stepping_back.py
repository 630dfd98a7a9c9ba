"""Stepping back is automatic or takes one person; a promotion takes a decision."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models.functions import Now

from dashboard.core.errors import Refused
from dashboard.models import AuditEntry, Endpoint, Notice, Profile, RolloutRequest
from dashboard.models.people import Role
from dashboard.trust import rollout_requests
from health.watch import ChangeKind
from tests.dashboard.rollouts.builders import (
    degrade,
    make_ready_endpoint,
    missing_conditions,
    notice_kinds,
    policy_body,
    read_stage,
)
from tests.dashboard.trust.builders import DEAD, HEALTHY, Past, finish_runs
from tests.factories import make_endpoint, make_person

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("before", "severity", "after"),
    [
        ("full", 1, "full"),
        ("full", 2, "rolled_back"),
        ("write", 3, "rolled_back"),
        ("read_only", 2, "read_only"),
        ("read_only", 3, "shadow"),
        ("rolled_back", 3, "shadow"),
        ("shadow", 3, "shadow"),
    ],
)
def test_an_incident_steps_back_as_far_as_it_is_severe(
    before: str, severity: int, after: str
) -> None:
    """Automatically, with a notice, an audit entry and a new policy."""
    endpoint = make_ready_endpoint(before)

    incident = degrade(endpoint.profile, severity)

    assert (read_stage(endpoint.profile), policy_body(endpoint)["stage"]) == (after, after)
    entries = AuditEntry.objects.filter(action="stage.changed")
    assert notice_kinds("stage.") == (["stage.changed"] if before != after else [])
    assert entries.count() == int(before != after)
    for entry in entries:
        assert entry.parsed_body["actor"]["name"] == "system"
        assert f"incident {incident.pk}" in entry.parsed_body["reason"]
        assert (entry.parsed_body["before"]["stage"], entry.parsed_body["after"]["stage"]) == (
            before,
            after,
        )
        notice = Notice.objects.get(kind="stage.changed")
        assert (notice.incident, notice.body["severity"]) == (incident, severity)


def test_an_incident_that_gets_worse_steps_back_further(ann: User, bea: User) -> None:
    """A pending request is voided; recovery alone does not promote again."""
    endpoint = make_ready_endpoint("write", runs=31)
    profile = endpoint.profile
    rollout_requests.request_promotion(profile, by=ann, reason="why")

    degrade(profile, 2)
    assert (read_stage(profile), RolloutRequest.objects.get().state) == ("rolled_back", "voided")
    degrade(profile, 3, kind=ChangeKind.ESCALATED)
    assert read_stage(profile) == "shadow"

    profile.incidents.update(state="recovered", ended_at=Now())
    profile.switches.update(off_at=Now())
    assert read_stage(profile) == "shadow"
    assert missing_conditions(profile) == []
    request = rollout_requests.request_promotion(profile, by=ann, reason="It has recovered.")
    rollout_requests.approve(request, by=bea, reason="yes")
    assert read_stage(profile) == "read_only"


def test_dead_runs_step_an_endpoint_back() -> None:
    """Runs lead to an incident, which changes the stage and the policy."""
    endpoint = make_endpoint(ttl=timedelta(hours=6))
    Past(endpoint).runs(20, HEALTHY)
    Profile.objects.update(stage="full")

    finish_runs(endpoint, DEAD)
    finish_runs(endpoint, DEAD)

    assert endpoint.profile.incidents.get().severity == 3
    assert read_stage(endpoint.profile) == "rolled_back"
    assert policy_body(endpoint)["stage"] == "rolled_back"
    assert policy_body(endpoint)["risk"]["allowed"] == []


def test_one_person_steps_back_and_never_forward(bea: User) -> None:
    """Only tighter stages are accepted; a viewer is refused."""
    endpoint = make_ready_endpoint("full")
    profile = endpoint.profile
    viewer = make_person("vic", Role.VIEWER)

    with pytest.raises(Refused, match="takes an operator or an approver"):
        rollout_requests.step_back(profile, to="shadow", by=viewer, reason="why")
    for to, after in (("write", "write"), ("rolled_back", "rolled_back"), ("shadow", "shadow")):
        rollout_requests.step_back(profile, to=to, by=bea, reason="An emergency.")
        assert (profile.stage, policy_body(endpoint)["stage"]) == (after, after)
        for forward in ("full", to, "read_only", "rejected", "no such stage"):
            if forward != "read_only" or after == "shadow":
                with pytest.raises(Refused, match="no step back"):
                    rollout_requests.step_back(profile, to=forward, by=bea, reason="why")
    assert notice_kinds() == ["stage.changed"] * 3


def test_a_profile_can_be_rejected(endpoint: Endpoint, ann: User, bea: User) -> None:
    """One person rejects it; its next stage is read_only."""
    rollout_requests.reject_profile(endpoint.profile, by=ann, reason="It invents calls.")
    with pytest.raises(Refused, match="rejected already"):
        rollout_requests.reject_profile(endpoint.profile, by=bea, reason="why")

    assert policy_body(endpoint)["stage"] == "rejected"
    assert rollout_requests.read_gate_result(endpoint.profile).next == "read_only"
