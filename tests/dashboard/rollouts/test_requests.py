"""Requests for the next stage, and who may decide on them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.core.errors import Refused
from dashboard.models import AuditEntry, Endpoint, Grant, Notice, Profile, RolloutRequest, RunMetric
from dashboard.models.people import Role, Team
from dashboard.trust import policy_renewal, rollout_requests
from dashboard.trust.decision_evidence import digest
from tests.dashboard.policy.builders import read_policy
from tests.dashboard.rollouts.builders import (
    audit_actions,
    make_ready_endpoint,
    missing_conditions,
    notice_kinds,
    policy_body,
    read_stage,
)
from tests.factories import make_person

pytestmark = pytest.mark.django_db


def test_an_operator_requests_and_an_approver_decides(
    endpoint: Endpoint, ann: User, bea: User
) -> None:
    """Every step sends a notice and is in the audit log; the approval changes the policy."""
    before = read_policy(endpoint).version
    request = rollout_requests.request_promotion(
        endpoint.profile, by=ann, reason=" It parses \0well. "
    )

    assert (request.state, request.from_stage, request.to_stage) == (
        "pending",
        "shadow",
        "read_only",
    )
    assert request.reason == "It parses well."
    assert request.expires_at - request.requested_at == timedelta(days=7)
    assert bytes(request.digest) == digest(request.evidence)
    assert request.evidence["figures"]["parse_success"]["trials"] == 60
    assert request.evidence["runs"] == [endpoint.runs.get().pk]
    assert {each["state"] for each in request.evidence["conditions"]} == {"met"}
    assert policy_body(endpoint)["risk"]["allowed"] == []

    rollout_requests.approve(request, by=bea, reason="So it does.")

    assert (request.state, request.decided_by, request.decision_reason) == (
        "approved",
        bea,
        "So it does.",
    )
    assert read_stage(endpoint.profile) == "read_only"
    assert Profile.objects.get().stage_at > timezone.now() - timedelta(minutes=5)
    assert policy_body(endpoint)["risk"]["allowed"] == ["read"]
    assert read_policy(endpoint).version > before
    assert notice_kinds() == ["rollout.requested", "rollout.decided"]
    assert audit_actions() == ["rollout.requested", "rollout.approved", "stage.changed"]
    entry = AuditEntry.objects.get(action="rollout.approved").parsed_body
    assert entry["before"] == {"stage": "shadow"}
    assert entry["after"]["stage"] == "read_only"
    assert entry["after"]["digest"] == bytes(request.digest).hex()
    assert (entry["actor"]["name"], entry["reason"]) == ("bea", "So it does.")
    notice = Notice.objects.get(kind="rollout.requested").body
    assert notice["request"] == request.pk
    assert "0 of 60 trials failed" in notice["text"]


def test_the_policy_changes_in_the_transaction_of_the_decision(
    endpoint: Endpoint, ann: User, bea: User
) -> None:
    """A rollback undoes both."""
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")

    with transaction.atomic():
        rollout_requests.approve(request, by=bea, reason="yes")
        assert policy_body(endpoint)["stage"] == "read_only"
        transaction.set_rollback(True)

    assert policy_body(endpoint)["stage"] == "shadow"
    assert RolloutRequest.objects.get().state == "pending"


def test_a_refusal_names_the_missing_condition(endpoint: Endpoint, ann: User) -> None:
    """A request needs every condition to be met, and a next stage."""
    RunMetric.objects.update(watched_failures=30)
    assert missing_conditions(endpoint.profile) == [
        "rate.parse_success",
        "rate.schema_failure",
        "rate.closure_error",
        "rate.result_use",
        "rate.value_fidelity",
    ]
    with pytest.raises(Refused, match="Parse success: 30 of 60 trials went well"):
        rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")

    Profile.objects.update(stage="full")
    with pytest.raises(Refused, match="no stage beyond"):
        rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    assert not RolloutRequest.objects.exists()


@pytest.mark.parametrize("reason", [" \0 ", "x" * 1001])
def test_every_action_needs_a_reason(endpoint: Endpoint, ann: User, bea: User, reason: str) -> None:
    """Requesting, approving, rejecting and stepping back are refused without one."""
    with pytest.raises(Refused):
        rollout_requests.request_promotion(endpoint.profile, by=ann, reason=reason)
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    for act in (rollout_requests.approve, rollout_requests.reject):
        with pytest.raises(Refused):
            act(request, by=bea, reason=reason)
    with pytest.raises(Refused):
        rollout_requests.reject_profile(endpoint.profile, by=bea, reason=reason)
    request.refresh_from_db()
    assert request.state == "pending"


def test_a_profile_has_at_most_one_pending_request(endpoint: Endpoint, ann: User) -> None:
    """A second request is refused with the name of the first requester."""
    rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")

    with pytest.raises(Refused, match="ann has asked for it already"):
        rollout_requests.request_promotion(
            endpoint.profile, by=make_person("al", Role.OPERATOR), reason="me too"
        )


def test_whoever_asked_may_not_approve(endpoint: Endpoint, ann: User) -> None:
    """The service and the database both refuse it."""
    Grant.objects.create(person=ann, role=Role.APPROVER)
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")

    with pytest.raises(Refused, match="a second person"):
        rollout_requests.approve(request, by=ann, reason="I say so.")
    with pytest.raises(IntegrityError, match="rollout_four_eyes"), transaction.atomic():
        _approve_by_sql(request, ann)
    admin = User.objects.create_superuser("root")
    admin_request = RolloutRequest.objects.get()
    RolloutRequest.objects.update(requested_by=admin)
    with pytest.raises(Refused, match="a second person"):
        rollout_requests.approve(admin_request, by=admin, reason="I may do everything.")
    assert read_stage(endpoint.profile) == "shadow"


def test_with_four_eyes_off_one_person_is_enough_and_the_log_says_so(
    endpoint: Endpoint, ann: User, settings: object
) -> None:
    """The setting at the time of the request counts."""
    settings.FOUR_EYES = False  # type: ignore[attr-defined]
    Grant.objects.create(person=ann, role=Role.APPROVER)
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    settings.FOUR_EYES = True  # type: ignore[attr-defined]

    rollout_requests.approve(request, by=ann, reason="I am alone.")

    assert read_stage(endpoint.profile) == "read_only"
    after = AuditEntry.objects.get(action="rollout.approved").parsed_body["after"]
    assert after["four_eyes"] is False
    assert "person who had asked" in after["warning"]


def test_a_role_counts_at_the_moment_of_deciding(endpoint: Endpoint, ann: User, bea: User) -> None:
    """Users who lost the role, are deactivated or are of another team are refused."""
    team = Team.objects.create(name="others")
    other_team = make_person("foe", Role.APPROVER, team=team)
    deactivated = make_person("gus", Role.APPROVER)
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    Grant.objects.filter(person=bea).delete()
    User.objects.filter(pk=deactivated.pk).update(is_active=False)

    for user in (bea, deactivated, other_team, ann):
        for act in (rollout_requests.approve, rollout_requests.reject):
            with pytest.raises(Refused):
                act(request, by=user, reason="yes")
    with pytest.raises(Refused, match="takes an operator"):
        rollout_requests.request_promotion(endpoint.profile, by=bea, reason="why")

    assert RolloutRequest.objects.get().state == "pending"
    assert read_stage(endpoint.profile) == "shadow"


def test_a_request_that_ran_out_is_over(endpoint: Endpoint, ann: User, bea: User) -> None:
    """By the clock of the database; a late decision is refused and the expiry is audited."""
    expired = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    RolloutRequest.objects.update(expires_at=Now())

    with pytest.raises(Refused, match="run out"):
        rollout_requests.approve(expired, by=bea, reason="yes")
    assert expired.state == "expired"
    with pytest.raises(Refused, match="run out"):
        rollout_requests.reject(expired, by=bea, reason="no")

    rollout_requests.request_promotion(endpoint.profile, by=ann, reason="once more")
    assert rollout_requests.expire_requests() == 0
    RolloutRequest.objects.pending().update(expires_at=Now())
    assert (rollout_requests.expire_requests(), rollout_requests.expire_requests()) == (1, 0)
    assert read_stage(endpoint.profile) == "shadow"
    assert audit_actions("rollout.expired") == ["rollout.expired"] * 2


def test_a_request_can_be_rejected_or_withdrawn(endpoint: Endpoint, ann: User, bea: User) -> None:
    """The stage stays, no further decision is possible, and a new request is."""
    rejected = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    rollout_requests.reject(rejected, by=bea, reason="Not this week.")
    with pytest.raises(Refused, match="bea has rejected it"):
        rollout_requests.approve(rejected, by=bea, reason="Or yes?")

    withdrawn = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="now?")
    with pytest.raises(Refused, match="takes an operator"):
        rollout_requests.withdraw(withdrawn, by=bea)
    rollout_requests.withdraw(withdrawn, by=ann)
    with pytest.raises(Refused, match="ann has withdrawn it"):
        rollout_requests.approve(withdrawn, by=bea, reason="yes")

    assert (rejected.state, withdrawn.state, read_stage(endpoint.profile)) == (
        "rejected",
        "withdrawn",
        "shadow",
    )
    assert audit_actions("rollout.") == [
        "rollout.requested",
        "rollout.rejected",
        "rollout.requested",
        "rollout.withdrawn",
    ]


def test_each_stage_has_its_own_gate(ann: User, bea: User) -> None:
    """Each promotion needs the conditions of its own stage, such as time at the stage before."""
    endpoint = make_ready_endpoint("read_only", runs=31)
    for to_stage in ("write", "full"):
        request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
        assert request.to_stage == to_stage
        rollout_requests.approve(request, by=bea, reason="yes")
        assert missing_conditions(endpoint.profile) == (["age"] if to_stage == "write" else [])
        Profile.objects.update(stage_at=Now() - timedelta(days=4))

    assert policy_body(endpoint)["risk"]["allowed"] == ["read", "write", "dangerous"]
    assert rollout_requests.read_gate_result(endpoint.profile).next is None
    policy_renewal.renew_outdated()
    assert read_stage(endpoint.profile) == "full"


def _approve_by_sql(request: RolloutRequest, by: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE dashboard_rolloutrequest SET state = 'approved', decided_by_id = %s,"
            " decided_at = now() WHERE id = %s",
            [by.pk, request.pk],
        )
