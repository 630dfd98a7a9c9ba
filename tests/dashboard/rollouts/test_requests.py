"""Asking for the next stage, and who may decide."""

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
from tests.dashboard.policy.builders import current
from tests.dashboard.rollouts.builders import audited, body, missing, noticed, ready, stage
from tests.factories import make_person

pytestmark = pytest.mark.django_db


def test_an_operator_asks_and_an_approver_decides(endpoint: Endpoint, ann: User, bea: User) -> None:
    """From shadow to tools that read: every step is told, written down and in the policy."""
    before = current(endpoint).version
    request = rollout_requests.ask(endpoint.profile, by=ann, reason=" It parses \0well. ")

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
    assert body(endpoint)["risk"]["allowed"] == []

    rollout_requests.approve(request, by=bea, reason="So it does.")

    assert (request.state, request.decided_by, request.decision_reason) == (
        "approved",
        bea,
        "So it does.",
    )
    assert stage(endpoint.profile) == "read_only"
    assert Profile.objects.get().stage_at > timezone.now() - timedelta(minutes=5)
    assert body(endpoint)["risk"]["allowed"] == ["read"]
    assert current(endpoint).version > before
    assert noticed() == ["rollout.requested", "rollout.decided"]
    assert audited() == ["rollout.requested", "rollout.approved", "stage.changed"]
    told = AuditEntry.objects.get(action="rollout.approved").parsed_body
    assert told["before"] == {"stage": "shadow"}
    assert told["after"]["stage"] == "read_only"
    assert told["after"]["digest"] == bytes(request.digest).hex()
    assert (told["actor"]["name"], told["reason"]) == ("bea", "So it does.")
    notice = Notice.objects.get(kind="rollout.requested").body
    assert notice["request"] == request.pk
    assert "0 of 60 trials failed" in notice["text"]


def test_the_policy_changes_in_the_transaction_of_the_decision(
    endpoint: Endpoint, ann: User, bea: User
) -> None:
    """Either both are there or neither."""
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")

    with transaction.atomic():
        rollout_requests.approve(request, by=bea, reason="yes")
        assert body(endpoint)["stage"] == "read_only"
        transaction.set_rollback(True)

    assert body(endpoint)["stage"] == "shadow"
    assert RolloutRequest.objects.get().state == "pending"


def test_what_is_missing_is_said(endpoint: Endpoint, ann: User) -> None:
    """Nobody can ask before every condition is met, at the top not at all."""
    RunMetric.objects.update(watched_failures=30)
    assert missing(endpoint.profile) == [
        "rate.parse_success",
        "rate.schema_failure",
        "rate.closure_error",
    ]
    with pytest.raises(Refused, match="Parse success: 30 of 60 trials went well"):
        rollout_requests.ask(endpoint.profile, by=ann, reason="why")

    Profile.objects.update(stage="full")
    with pytest.raises(Refused, match="no stage beyond"):
        rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    assert not RolloutRequest.objects.exists()


@pytest.mark.parametrize("reason", [" \0 ", "x" * 1001])
def test_a_reason_is_wanted_for_everything(
    endpoint: Endpoint, ann: User, bea: User, reason: str
) -> None:
    """For asking, approving, rejecting and stepping back."""
    with pytest.raises(Refused):
        rollout_requests.ask(endpoint.profile, by=ann, reason=reason)
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    for act in (rollout_requests.approve, rollout_requests.reject):
        with pytest.raises(Refused):
            act(request, by=bea, reason=reason)
    with pytest.raises(Refused):
        rollout_requests.reject_profile(endpoint.profile, by=bea, reason=reason)
    request.refresh_from_db()
    assert request.state == "pending"


def test_one_request_a_profile_waits(endpoint: Endpoint, ann: User) -> None:
    """The second one is told who was first."""
    rollout_requests.ask(endpoint.profile, by=ann, reason="why")

    with pytest.raises(Refused, match="ann has asked for it already"):
        rollout_requests.ask(endpoint.profile, by=make_person("al", Role.OPERATOR), reason="me too")


def test_whoever_asked_may_not_approve(endpoint: Endpoint, ann: User) -> None:
    """Not by the service, and not by SQL either."""
    Grant.objects.create(person=ann, role=Role.APPROVER)
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")

    with pytest.raises(Refused, match="a second person"):
        rollout_requests.approve(request, by=ann, reason="I say so.")
    with pytest.raises(IntegrityError, match="rollout_four_eyes"), transaction.atomic():
        _by_sql(request, ann)
    admin = User.objects.create_superuser("root")
    own = RolloutRequest.objects.get()
    RolloutRequest.objects.update(requested_by=admin)
    with pytest.raises(Refused, match="a second person"):
        rollout_requests.approve(own, by=admin, reason="I may do everything.")
    assert stage(endpoint.profile) == "shadow"


def test_with_four_eyes_off_one_person_is_enough_and_the_log_says_so(
    endpoint: Endpoint, ann: User, settings: object
) -> None:
    """The row keeps what held when it was asked for."""
    settings.FOUR_EYES = False  # type: ignore[attr-defined]
    Grant.objects.create(person=ann, role=Role.APPROVER)
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    settings.FOUR_EYES = True  # type: ignore[attr-defined]

    rollout_requests.approve(request, by=ann, reason="I am alone.")

    assert stage(endpoint.profile) == "read_only"
    told = AuditEntry.objects.get(action="rollout.approved").parsed_body["after"]
    assert told["four_eyes"] is False
    assert "person who had asked" in told["warning"]


def test_a_role_counts_at_the_moment_of_deciding(endpoint: Endpoint, ann: User, bea: User) -> None:
    """Whoever lost it, was deactivated or belongs to another team is refused."""
    team = Team.objects.create(name="others")
    foreign = make_person("foe", Role.APPROVER, team=team)
    gone = make_person("gus", Role.APPROVER)
    request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    Grant.objects.filter(person=bea).delete()
    User.objects.filter(pk=gone.pk).update(is_active=False)

    for who in (bea, gone, foreign, ann):
        for act in (rollout_requests.approve, rollout_requests.reject):
            with pytest.raises(Refused):
                act(request, by=who, reason="yes")
    with pytest.raises(Refused, match="takes an operator"):
        rollout_requests.ask(endpoint.profile, by=bea, reason="why")

    assert RolloutRequest.objects.get().state == "pending"
    assert stage(endpoint.profile) == "shadow"


def test_a_request_that_ran_out_is_over(endpoint: Endpoint, ann: User, bea: User) -> None:
    """By the database's clock; whoever decides too late is told, and it is written down."""
    late = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    RolloutRequest.objects.update(expires_at=Now())

    with pytest.raises(Refused, match="run out"):
        rollout_requests.approve(late, by=bea, reason="yes")
    assert late.state == "expired"
    with pytest.raises(Refused, match="run out"):
        rollout_requests.reject(late, by=bea, reason="no")

    rollout_requests.ask(endpoint.profile, by=ann, reason="once more")
    assert rollout_requests.expire() == 0
    RolloutRequest.objects.pending().update(expires_at=Now())
    assert (rollout_requests.expire(), rollout_requests.expire()) == (1, 0)
    assert stage(endpoint.profile) == "shadow"
    assert audited("rollout.expired") == ["rollout.expired"] * 2


def test_a_request_can_be_rejected_or_withdrawn(endpoint: Endpoint, ann: User, bea: User) -> None:
    """The stage stays; afterwards nothing can be decided, and asking again is possible."""
    no = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
    rollout_requests.reject(no, by=bea, reason="Not this week.")
    with pytest.raises(Refused, match="bea has rejected it"):
        rollout_requests.approve(no, by=bea, reason="Or yes?")

    back = rollout_requests.ask(endpoint.profile, by=ann, reason="now?")
    with pytest.raises(Refused, match="takes an operator"):
        rollout_requests.withdraw(back, by=bea)
    rollout_requests.withdraw(back, by=ann)
    with pytest.raises(Refused, match="ann has withdrawn it"):
        rollout_requests.approve(back, by=bea, reason="yes")

    assert (no.state, back.state, stage(endpoint.profile)) == ("rejected", "withdrawn", "shadow")
    assert audited("rollout.") == [
        "rollout.requested",
        "rollout.rejected",
        "rollout.requested",
        "rollout.withdrawn",
    ]


def test_each_stage_has_its_own_gate(ann: User, bea: User) -> None:
    """From tools that read to everything, with ever more asked of the figures and of time."""
    endpoint = ready("read_only", runs=31)
    for wanted in ("write", "full"):
        request = rollout_requests.ask(endpoint.profile, by=ann, reason="why")
        assert request.to_stage == wanted
        rollout_requests.approve(request, by=bea, reason="yes")
        assert missing(endpoint.profile) == (["age"] if wanted == "write" else [])
        Profile.objects.update(stage_at=Now() - timedelta(days=4))

    assert body(endpoint)["risk"]["allowed"] == ["read", "write", "dangerous"]
    assert rollout_requests.standing(endpoint.profile).next is None
    policy_renewal.renew_outdated()
    assert stage(endpoint.profile) == "full"


def _by_sql(request: RolloutRequest, by: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE dashboard_rolloutrequest SET state = 'approved', decided_by_id = %s,"
            " decided_at = now() WHERE id = %s",
            [by.pk, request.pk],
        )
