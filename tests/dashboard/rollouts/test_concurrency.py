"""Concurrent changes of one request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from dashboard.core.errors import Refused
from dashboard.models import AuditEntry, Endpoint, GateVersion, Profile, RolloutRequest
from dashboard.models.people import Role
from dashboard.trust import gates, rollout_requests
from tests.dashboard.policy.test_at_once import own_connection
from tests.dashboard.rollouts.builders import (
    audit_actions,
    make_ready_endpoint,
    measure,
    other_gates,
    read_stage,
)
from tests.factories import make_person
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_approvers_at_once_give_one_decision() -> None:
    """The first decision counts; the others are refused with the name of the first approver."""
    ann = make_person("ann", Role.OPERATOR)
    approvers = [make_person(name, Role.APPROVER) for name in ("bea", "cy", "dee")]
    endpoint = make_ready_endpoint()
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")
    barrier = Barrier(len(approvers))

    @own_connection
    def decide(by: User) -> str:
        own_copy = RolloutRequest.objects.get(pk=request.pk)
        barrier.wait()
        try:
            rollout_requests.approve(own_copy, by=by, reason=f"says {by.username}")
        except Refused as refused:
            return refused.message
        return "approved"

    with ThreadPoolExecutor(len(approvers)) as pool:
        answers = list(pool.map(decide, approvers))

    request.refresh_from_db()
    first = request.decided_by
    assert first
    assert answers.count("approved") == 1
    assert answers.count(f"{first.username} has approved it already.") == len(approvers) - 1
    assert request.decision_reason == f"says {first.username}"
    assert read_stage(endpoint.profile) == "read_only"
    assert audit_actions("rollout.approved") == ["rollout.approved"]


def test_a_change_that_commits_while_somebody_approves_still_voids() -> None:
    """An approval waits for the lock on the endpoint and then sees the change."""
    ann, bea = make_person("ann", Role.OPERATOR), make_person("bea", Role.APPROVER)
    endpoint = make_ready_endpoint()
    request = rollout_requests.request_promotion(endpoint.profile, by=ann, reason="why")

    @own_connection
    def approve() -> str:
        try:
            rollout_requests.approve(
                RolloutRequest.objects.get(pk=request.pk), by=bea, reason="yes"
            )
        except Refused as refused:
            return refused.message
        return "approved"

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Endpoint.objects.select_for_update().get(pk=endpoint.pk)
            answer = pool.submit(approve)
            eventually(_a_lock_is_awaited)
            for _ in range(4):
                measure(endpoint, failures=40)
        assert "so it is void" in answer.result()

    assert (RolloutRequest.objects.get().state, Profile.objects.get().stage) == ("voided", "shadow")
    assert AuditEntry.objects.filter(action="rollout.voided").count() == 1


def test_of_two_concurrent_changes_of_the_gates_one_is_refused() -> None:
    """A change cannot overwrite a version that its author has not seen."""
    people = [User.objects.create_superuser(name) for name in ("ada", "ben")]
    barrier = Barrier(len(people))

    @own_connection
    def change(by: User, runs: int) -> str:
        barrier.wait()
        try:
            gates.change_gates(other_gates(runs=runs), by=by, reason="mine", seen=0)
        except Refused as refused:
            return refused.message
        return "changed"

    with ThreadPoolExecutor(len(people)) as pool:
        answers = sorted(pool.map(change, people, (31, 32)))

    assert answers == ["Somebody else has changed the gates since. Look at them again.", "changed"]
    assert GateVersion.objects.count() == 1


def _a_lock_is_awaited() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None
