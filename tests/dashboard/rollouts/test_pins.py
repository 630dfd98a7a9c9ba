"""Pinned modes: one person pins, two release."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dashboard.core.errors import Refused
from dashboard.models import Endpoint, ModeSwitch, RolloutRequest
from dashboard.trust import modes, policy_renewal, rollout_requests
from health.modes import Mode
from tests.dashboard.policy.builders import effective_modes, move_into_past
from tests.dashboard.rollouts.builders import (
    audit_actions,
    degrade,
    make_ready_endpoint,
    notice_kinds,
)

pytestmark = pytest.mark.django_db


def pin(endpoint: Endpoint, by: User, **over: timedelta) -> ModeSwitch:
    profile = endpoint.profile_in_force
    return modes.switch_on(
        profile, Mode.NO_TOOLS, by=by, reason="An accident.", pinned=True, **over
    )


def test_to_let_go_of_a_pinned_mode_takes_two(ann: User, bea: User) -> None:
    """Switching off is refused; a request and the approval of a second person release it."""
    endpoint = make_ready_endpoint("full")
    switch = pin(endpoint, ann)
    with pytest.raises(Refused, match="takes a second person"):
        modes.switch_off(switch, by=bea, reason="I do not care.")

    request = rollout_requests.request_unpin(switch, by=ann, reason="It is mended.")
    with pytest.raises(Refused, match="ann has asked"):
        rollout_requests.request_unpin(switch, by=ann, reason="Really.")
    with pytest.raises(Refused):
        rollout_requests.approve(request, by=ann, reason="yes")
    assert effective_modes(endpoint) == ["no_tools"]
    rollout_requests.approve(request, by=bea, reason="So it is.")

    switch.refresh_from_db()
    assert (switch.off_by, switch.off_reason, effective_modes(endpoint)) == (bea, "So it is.", [])
    assert audit_actions() == ["mode.on", "rollout.requested", "rollout.approved", "mode.off"]
    assert notice_kinds("rollout") == ["rollout.requested", "rollout.decided"]
    with pytest.raises(Refused, match="not pinned, or it is off"):
        rollout_requests.request_unpin(switch, by=ann, reason="again")


def test_a_request_to_unpin_is_voided_when_an_incident_opens(ann: User, bea: User) -> None:
    """The request was made for a healthy endpoint."""
    endpoint = make_ready_endpoint("full")
    request = rollout_requests.request_unpin(pin(endpoint, ann), by=ann, reason="why")

    degrade(endpoint.profile, 1)

    request.refresh_from_db()
    assert (request.state, request.changed[0][0]) == ("voided", "modes.effective")
    with pytest.raises(Refused, match="void"):
        rollout_requests.approve(request, by=bea, reason="yes")


def test_a_pinned_mode_expires_at_its_time(ann: User) -> None:
    """Expiry needs no second person, and voids the request to unpin."""
    endpoint = make_ready_endpoint("full")
    switch = pin(endpoint, ann, lasts=timedelta(hours=1))
    rollout_requests.request_unpin(switch, by=ann, reason="why")

    move_into_past(timedelta(hours=2))
    policy_renewal.renew_outdated()

    switch.refresh_from_db()
    assert switch.off_at is not None
    assert RolloutRequest.objects.get().state == "voided"
    assert audit_actions("mode.off") == ["mode.off"]


def test_only_approvers_switch_off_what_an_incident_switched_on(ann: User, bea: User) -> None:
    """An operator is refused."""
    endpoint = make_ready_endpoint("full")
    incident = degrade(endpoint.profile, 1)
    switch = incident.switches.first()
    assert switch

    with pytest.raises(Refused, match="only an approver"):
        modes.switch_off(switch, by=ann, reason="I want it off.")

    assert modes.switch_off(switch, by=bea, reason="I looked at it.")
