"""Rollout requests: requesting the next stage of a profile, and deciding.

With four eyes on, the requester may not approve. A decision is bound to the evidence of its
request: any change since then voids it (expiry.py). Stages are written and stepped back by
stage_changes.py.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.core.errors import Refused
from dashboard.core.permissions import Right
from dashboard.core.reasons import clean_reason
from dashboard.models import ApiToken, Endpoint, ModeSwitch, Profile, RolloutRequest
from dashboard.models.audit import Action
from dashboard.trust import (
    decision_evidence,
    gates,
    modes,
    profiles,
    rollout_notices,
    stage_changes,
)
from dashboard.trust.decision_evidence import EvidenceChange
from dashboard.trust.expiry import (
    expire_if_due,
    expire_requests,
    void_all_changed_requests,
    void_changed_requests,
    void_request,
)
from dashboard.trust.rollout_audit import audit_request
from dashboard.trust.settle import settle
from dashboard.trust.stage_changes import check_right, lock_endpoint, reject_profile, step_back
from health.gates import GateResult

__all__ = [
    "EvidenceChange",
    "approve",
    "expire_requests",
    "find_evidence_changes",
    "read_gate_result",
    "reject",
    "reject_profile",
    "request_promotion",
    "request_unpin",
    "step_back",
    "void_all_changed_requests",
    "void_changed_requests",
    "withdraw",
]

Kind, State = RolloutRequest.Kind, RolloutRequest.State


def read_gate_result(profile: Profile) -> GateResult:
    """The result of the current gates for the profile's next stage."""
    return decision_evidence.read_gate_result(profile)


def find_evidence_changes(request: RolloutRequest) -> list[EvidenceChange]:
    """What has changed since the request: its evidence, or else conditions no longer met."""
    return decision_evidence.find_evidence_changes(request)


@transaction.atomic
def request_promotion(
    profile: Profile, *, by: User, reason: str, token: ApiToken | None = None
) -> RolloutRequest:
    """Request the next stage of a profile; refuses unless every condition is met."""
    reason = clean_reason(reason)
    gates.lock_gates_shared()
    endpoint = lock_endpoint(profile.endpoint_id)
    check_right(by, Right.OPERATE, endpoint)
    profile = Profile.objects.select_related("endpoint").get(pk=profile.pk)
    if profile.ended_at is not None:
        raise Refused(_("The key has changed since: ask for the profile of the present one."))
    result = read_gate_result(profile)
    if result.next is None:
        raise Refused(_("There is no stage beyond this one."))
    if result.missing:
        missing = " ".join(condition.text for condition in result.missing)
        raise Refused(
            _("The next stage cannot be asked for yet. {missing}").format(missing=missing)
        )
    _check_none_pending(profile.requests.pending().filter(kind=Kind.STAGE).first())
    evidence = decision_evidence.read_stage_evidence(profile, result)
    request = RolloutRequest(profile=profile, from_stage=profile.stage, to_stage=result.next)
    request.gates_id = result.version
    return _submit(endpoint, request, evidence, by=by, reason=reason, token=token)


@transaction.atomic
def request_unpin(
    switch: ModeSwitch, *, by: User, reason: str, token: ApiToken | None = None
) -> RolloutRequest:
    """Request the release of a pinned mode."""
    reason = clean_reason(reason)
    endpoint = lock_endpoint(switch.profile.endpoint_id)
    check_right(by, Right.OPERATE, endpoint)
    switch = _find_pinned(switch)
    _check_none_pending(RolloutRequest.objects.pending().filter(switch=switch).first())
    stage = switch.profile.stage
    request = RolloutRequest(
        kind=Kind.UNPIN, profile=switch.profile, from_stage=stage, to_stage=stage, switch=switch
    )
    evidence = decision_evidence.read_unpin_evidence(switch)
    return _submit(endpoint, request, evidence, by=by, reason=reason, token=token)


def approve(request: RolloutRequest, *, by: User, reason: str) -> RolloutRequest:
    """Approve a request and carry it out, if its evidence has not changed.

    If it has changed or the request has expired, that is stored before this refuses.
    """
    refusal = _approve(request.pk, by=by, reason=clean_reason(reason))
    request.refresh_from_db()
    if refusal:
        raise Refused(refusal)
    return request


@transaction.atomic
def _approve(request_id: int, *, by: User, reason: str) -> str | None:
    endpoint, request = _lock_for_decision(request_id, by)
    if request.four_eyes and request.requested_by_id == by.pk:
        raise Refused(_("Whoever asked may not approve: it takes a second person."))
    if refusal := expire_if_due(endpoint, request):
        return refusal
    if changes := find_evidence_changes(request):
        void_request(endpoint, request, changes)
        message = _("What the request rests on has changed, so it is void. {changed}")
        return message.format(changed=" ".join(change.text for change in changes))
    _store_decision(request, State.APPROVED, by=by, reason=reason)
    audit_request(Action.ROLLOUT_APPROVED, endpoint, request, by=by, reason=reason)
    rollout_notices.notify_decided(endpoint, request, by=by)
    _carry_out(endpoint, request, by=by, reason=reason)
    return None


def reject(request: RolloutRequest, *, by: User, reason: str) -> RolloutRequest:
    """Reject a request; the stage does not change."""
    refusal = _reject(request.pk, by=by, reason=clean_reason(reason))
    request.refresh_from_db()
    if refusal:
        raise Refused(refusal)
    return request


@transaction.atomic
def _reject(request_id: int, *, by: User, reason: str) -> str | None:
    endpoint, request = _lock_for_decision(request_id, by)
    if refusal := expire_if_due(endpoint, request):
        return refusal
    _store_decision(request, State.REJECTED, by=by, reason=reason)
    audit_request(Action.ROLLOUT_REJECTED, endpoint, request, by=by, reason=reason)
    rollout_notices.notify_decided(endpoint, request, by=by)
    return None


@transaction.atomic
def withdraw(request: RolloutRequest, *, by: User, reason: str = "") -> RolloutRequest:
    """Withdraw a request, as its requester or as an operator."""
    endpoint = lock_endpoint(request.profile.endpoint_id)
    request.refresh_from_db()
    check_right(by, Right.READ if by.pk == request.requested_by_id else Right.OPERATE, endpoint)
    reason = clean_reason(reason) if reason.strip() else ""
    _store_decision(request, State.WITHDRAWN, by=by, reason=reason)
    audit_request(Action.ROLLOUT_WITHDRAWN, endpoint, request, by=by, reason=reason)
    rollout_notices.notify_decided(endpoint, request, by=by)
    return request


def _submit(  # noqa: PLR0913 -- keyword-only: requester and reason
    endpoint: Endpoint,
    request: RolloutRequest,
    evidence: dict[str, Any],
    *,
    by: User,
    reason: str,
    token: ApiToken | None,
) -> RolloutRequest:
    request.evidence, request.digest = evidence, decision_evidence.digest(evidence)
    request.four_eyes = settings.FOUR_EYES
    request.requested_by, request.requested_token = by, token
    request.reason, request.expires_at = reason, Now() + settings.REQUEST_EXPIRES
    request.save()
    request.refresh_from_db()
    audit_request(Action.ROLLOUT_REQUESTED, endpoint, request, by=by, reason=reason)
    rollout_notices.notify_requested(endpoint, request)
    return request


def _lock_for_decision(request_id: int, by: User) -> tuple[Endpoint, RolloutRequest]:
    """The locked endpoint and the pending request; refuses without the right to decide."""
    requests = RolloutRequest.objects.select_related(
        "profile", "requested_by", "decided_by", "switch"
    )
    endpoint = lock_endpoint(requests.get(pk=request_id).profile.endpoint_id)
    request = requests.get(pk=request_id)
    check_right(by, Right.DECIDE, endpoint)
    _check_pending(request)
    return endpoint, request


def _store_decision(request: RolloutRequest, state: str, *, by: User, reason: str) -> None:
    """Store the decision if the request is still pending; the database lets only one win."""
    pending = RolloutRequest.objects.pending().filter(pk=request.pk, expires_at__gt=Now())
    if not pending.update(state=state, decided_by=by, decided_at=Now(), decision_reason=reason):
        request.refresh_from_db()
        _check_pending(request)
        raise Refused(_("The request has run out; ask again."))
    request.refresh_from_db()


def _carry_out(endpoint: Endpoint, request: RolloutRequest, *, by: User, reason: str) -> None:
    if request.switch is not None:
        modes.end_switch(endpoint, request.switch, by=by, reason=reason)
        return
    profile = request.profile
    stage_changes.write_stage(endpoint, profile, request.to_stage, by=by, reason=reason)
    profiles.put_in_force(profile)
    settle(endpoint)


def _check_pending(request: RolloutRequest) -> None:
    """Refuse if the request has ended, with the name of who decided."""
    if request.state == State.PENDING:
        return
    who = request.decided_by.get_username() if request.decided_by else ""
    messages = {
        State.APPROVED: _("{name} has approved it already."),
        State.REJECTED: _("{name} has rejected it already."),
        State.WITHDRAWN: _("{name} has withdrawn it."),
        State.VOIDED: _("The request is void: what it rests on has changed."),
        State.EXPIRED: _("The request has run out; ask again."),
    }
    raise Refused(messages[State(request.state)].format(name=who))


def _check_none_pending(request: RolloutRequest | None) -> None:
    if request is not None:
        message = _("{name} has asked for it already, and nobody has decided yet.")
        raise Refused(message.format(name=request.requested_by.get_username()))


def _find_pinned(switch: ModeSwitch) -> ModeSwitch:
    switches = ModeSwitch.objects.on().select_related("profile__endpoint", "author")
    pinned = switches.filter(pk=switch.pk, pinned=True).first()
    if pinned is None:
        raise Refused(_("This mode is not pinned, or it is off already."))
    return pinned
