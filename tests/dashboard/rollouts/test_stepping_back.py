"""Going back needs nobody, or one person; going forward again is a decision."""

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
from tests.dashboard.rollouts.builders import body, degrade, missing, noticed, ready, stage
from tests.dashboard.trust.builders import DEAD, HEALTHY, Past, finished
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
    """By itself, with a notice and an entry in the log, in the same transaction as the policy."""
    endpoint = ready(before)

    incident = degrade(endpoint.profile, severity)

    assert (stage(endpoint.profile), body(endpoint)["stage"]) == (after, after)
    told = AuditEntry.objects.filter(action="stage.changed")
    assert noticed("stage.") == (["stage.changed"] if before != after else [])
    assert told.count() == int(before != after)
    for entry in told:
        assert entry.parsed_body["actor"]["name"] == "system"
        assert f"incident {incident.pk}" in entry.parsed_body["reason"]
        assert (entry.parsed_body["before"]["stage"], entry.parsed_body["after"]["stage"]) == (
            before,
            after,
        )
        notice = Notice.objects.get(kind="stage.changed")
        assert (notice.incident, notice.body["severity"]) == (incident, severity)


def test_an_incident_that_gets_worse_steps_back_further(ann: User, bea: User) -> None:
    """And a request that waited for more is void; forward again is a decision alone."""
    endpoint = ready("write", runs=31)
    profile = endpoint.profile
    rollout_requests.ask(profile, by=ann, reason="why")

    degrade(profile, 2)
    assert (stage(profile), RolloutRequest.objects.get().state) == ("rolled_back", "voided")
    degrade(profile, 3, kind=ChangeKind.ESCALATED)
    assert stage(profile) == "shadow"

    profile.incidents.update(state="recovered", ended_at=Now())
    profile.switches.update(off_at=Now())
    assert stage(profile) == "shadow"
    assert missing(profile) == []
    request = rollout_requests.ask(profile, by=ann, reason="It has recovered.")
    rollout_requests.approve(request, by=bea, reason="yes")
    assert stage(profile) == "read_only"


def test_dead_runs_step_back_by_themselves() -> None:
    """The whole way: runs, the watch, an incident, the stage, the policy."""
    endpoint = make_endpoint(ttl=timedelta(hours=6))
    Past(endpoint).runs(20, HEALTHY)
    Profile.objects.update(stage="full")

    finished(endpoint, DEAD)
    finished(endpoint, DEAD)

    assert endpoint.profile.incidents.get().severity == 3
    assert stage(endpoint.profile) == "rolled_back"
    assert body(endpoint)["stage"] == "rolled_back"
    assert body(endpoint)["risk"]["allowed"] == []


def test_one_person_steps_back_and_never_forward(bea: User) -> None:
    """Only ever tighter; a viewer may not at all."""
    endpoint = ready("full")
    profile = endpoint.profile
    viewer = make_person("vic", Role.VIEWER)

    with pytest.raises(Refused, match="takes an operator or an approver"):
        rollout_requests.step_back(profile, to="shadow", by=viewer, reason="why")
    for to, after in (("write", "write"), ("rolled_back", "rolled_back"), ("shadow", "shadow")):
        rollout_requests.step_back(profile, to=to, by=bea, reason="An emergency.")
        assert (profile.stage, body(endpoint)["stage"]) == (after, after)
        for forward in ("full", to, "read_only", "rejected", "no such stage"):
            if forward != "read_only" or after == "shadow":
                with pytest.raises(Refused, match="no step back"):
                    rollout_requests.step_back(profile, to=forward, by=bea, reason="why")
    assert noticed() == ["stage.changed"] * 3


def test_a_profile_can_be_rejected(endpoint: Endpoint, ann: User, bea: User) -> None:
    """One person says that it is not wanted; its way up begins with tools that read."""
    rollout_requests.reject_profile(endpoint.profile, by=ann, reason="It invents calls.")
    with pytest.raises(Refused, match="rejected already"):
        rollout_requests.reject_profile(endpoint.profile, by=bea, reason="why")

    assert body(endpoint)["stage"] == "rejected"
    assert rollout_requests.standing(endpoint.profile).next == "read_only"
