"""Stages of profiles: asking for the next one, and deciding.

Whoever asks may not decide while four eyes are wanted. A decision is bound to the evidence that
the request was made on: what has changed by then voids it (services/rollout_ends.py). Stages are
written, and stepped back, by services/stage_steps.py.
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
from dashboard.trust.decision_evidence import Changed
from dashboard.trust.expiry import expire, run_out, void, void_all, void_changed
from dashboard.trust.rollout_audit import record
from dashboard.trust.settle import settle
from dashboard.trust.stage_changes import check_right, lock, reject_profile, step_back
from health.gates import GateResult

__all__ = [
    "Changed",
    "approve",
    "ask",
    "ask_unpin",
    "differences",
    "expire",
    "reject",
    "reject_profile",
    "standing",
    "step_back",
    "void_all",
    "void_changed",
    "withdraw",
]

Kind, State = RolloutRequest.Kind, RolloutRequest.State


def standing(profile: Profile) -> GateResult:
    """Where the profile stands before its next stage."""
    return decision_evidence.standing(profile)


def differences(request: RolloutRequest) -> list[Changed]:
    """What of the evidence of a request is another one now."""
    return decision_evidence.differences(request)


@transaction.atomic
def ask(
    profile: Profile, *, by: User, reason: str, token: ApiToken | None = None
) -> RolloutRequest:
    """Ask for the next stage of a profile; every condition of its gate has to be met."""
    reason = clean_reason(reason)
    gates.hold_still()
    endpoint = lock(profile.endpoint_id)
    check_right(by, Right.OPERATE, endpoint)
    profile = Profile.objects.select_related("endpoint").get(pk=profile.pk)
    if profile.ended_at is not None:
        raise Refused(_("The key has changed since: ask for the profile of the present one."))
    where = standing(profile)
    if where.next is None:
        raise Refused(_("There is no stage beyond this one."))
    if where.missing:
        missing = " ".join(condition.text for condition in where.missing)
        raise Refused(
            _("The next stage cannot be asked for yet. {missing}").format(missing=missing)
        )
    _check_none_pending(profile.requests.pending().filter(kind=Kind.STAGE).first())
    evidence = decision_evidence.of_stage(profile, where)
    request = RolloutRequest(profile=profile, from_stage=profile.stage, to_stage=where.next)
    request.gates_id = where.version
    return _put(endpoint, request, evidence, by=by, reason=reason, token=token)


@transaction.atomic
def ask_unpin(
    switch: ModeSwitch, *, by: User, reason: str, token: ApiToken | None = None
) -> RolloutRequest:
    """Ask that a pinned mode be let go of."""
    reason = clean_reason(reason)
    endpoint = lock(switch.profile.endpoint_id)
    check_right(by, Right.OPERATE, endpoint)
    switch = _pinned(switch)
    _check_none_pending(RolloutRequest.objects.pending().filter(switch=switch).first())
    stage = switch.profile.stage
    request = RolloutRequest(
        kind=Kind.UNPIN, profile=switch.profile, from_stage=stage, to_stage=stage, switch=switch
    )
    evidence = decision_evidence.of_unpin(switch)
    return _put(endpoint, request, evidence, by=by, reason=reason, token=token)


def approve(request: RolloutRequest, *, by: User, reason: str) -> RolloutRequest:
    """Let what was asked for happen, if all that it rests on still holds.

    What does not hold any more is written down before this refuses.
    """
    refusal = _approve(request.pk, by=by, reason=clean_reason(reason))
    request.refresh_from_db()
    if refusal:
        raise Refused(refusal)
    return request


@transaction.atomic
def _approve(request_id: int, *, by: User, reason: str) -> str | None:
    endpoint, request = _for_decision(request_id, by)
    if request.four_eyes and request.requested_by_id == by.pk:
        raise Refused(_("Whoever asked may not approve: it takes a second person."))
    if refusal := run_out(endpoint, request):
        return refusal
    if changed := differences(request):
        void(endpoint, request, changed)
        told = _("What the request rests on has changed, so it is void. {changed}")
        return told.format(changed=" ".join(each.words for each in changed))
    _decide(request, State.APPROVED, by=by, reason=reason)
    record(Action.ROLLOUT_APPROVED, endpoint, request, by=by, reason=reason)
    rollout_notices.decided(endpoint, request, by=by)
    _carry_out(endpoint, request, by=by, reason=reason)
    return None


def reject(request: RolloutRequest, *, by: User, reason: str) -> RolloutRequest:
    """Say no; the stage stays as it is."""
    refusal = _reject(request.pk, by=by, reason=clean_reason(reason))
    request.refresh_from_db()
    if refusal:
        raise Refused(refusal)
    return request


@transaction.atomic
def _reject(request_id: int, *, by: User, reason: str) -> str | None:
    endpoint, request = _for_decision(request_id, by)
    if refusal := run_out(endpoint, request):
        return refusal
    _decide(request, State.REJECTED, by=by, reason=reason)
    record(Action.ROLLOUT_REJECTED, endpoint, request, by=by, reason=reason)
    rollout_notices.decided(endpoint, request, by=by)
    return None


@transaction.atomic
def withdraw(request: RolloutRequest, *, by: User, reason: str = "") -> RolloutRequest:
    """Take a request back: whoever asked, or anybody who may ask."""
    endpoint = lock(request.profile.endpoint_id)
    request.refresh_from_db()
    check_right(by, Right.READ if by.pk == request.requested_by_id else Right.OPERATE, endpoint)
    reason = clean_reason(reason) if reason.strip() else ""
    _decide(request, State.WITHDRAWN, by=by, reason=reason)
    record(Action.ROLLOUT_WITHDRAWN, endpoint, request, by=by, reason=reason)
    rollout_notices.decided(endpoint, request, by=by)
    return request


def _put(  # noqa: PLR0913 -- keyword-only: who asks, and why
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
    record(Action.ROLLOUT_REQUESTED, endpoint, request, by=by, reason=reason)
    rollout_notices.requested(endpoint, request)
    return request


def _for_decision(request_id: int, by: User) -> tuple[Endpoint, RolloutRequest]:
    """The endpoint, locked, and the request, for somebody who may decide on it now."""
    found = RolloutRequest.objects.select_related("profile", "requested_by", "decided_by", "switch")
    endpoint = lock(found.get(pk=request_id).profile.endpoint_id)
    request = found.get(pk=request_id)
    check_right(by, Right.DECIDE, endpoint)
    _check_pending(request)
    return endpoint, request


def _decide(request: RolloutRequest, state: str, *, by: User, reason: str) -> None:
    """Write the decision if the request still waits for one: the database says who was first."""
    waiting = RolloutRequest.objects.pending().filter(pk=request.pk, expires_at__gt=Now())
    if not waiting.update(state=state, decided_by=by, decided_at=Now(), decision_reason=reason):
        request.refresh_from_db()
        _check_pending(request)
        raise Refused(_("The request has run out; ask again."))
    request.refresh_from_db()


def _carry_out(endpoint: Endpoint, request: RolloutRequest, *, by: User, reason: str) -> None:
    if request.switch is not None:
        modes.let_go(endpoint, request.switch, by=by, reason=reason)
        return
    profile = request.profile
    stage_changes.write(endpoint, profile, request.to_stage, by=by, reason=reason)
    profiles.put_in_force(profile)
    settle(endpoint)


def _check_pending(request: RolloutRequest) -> None:
    """Refuse what is over, and say who was faster."""
    if request.state == State.PENDING:
        return
    who = request.decided_by.get_username() if request.decided_by else ""
    told = {
        State.APPROVED: _("{name} has approved it already."),
        State.REJECTED: _("{name} has rejected it already."),
        State.WITHDRAWN: _("{name} has withdrawn it."),
        State.VOIDED: _("The request is void: what it rests on has changed."),
        State.EXPIRED: _("The request has run out; ask again."),
    }
    raise Refused(told[State(request.state)].format(name=who))


def _check_none_pending(request: RolloutRequest | None) -> None:
    if request is not None:
        told = _("{name} has asked for it already, and nobody has decided yet.")
        raise Refused(told.format(name=request.requested_by.get_username()))


def _pinned(switch: ModeSwitch) -> ModeSwitch:
    found = ModeSwitch.objects.on().select_related("profile__endpoint", "author")
    mine = found.filter(pk=switch.pk, pinned=True).first()
    if mine is None:
        raise Refused(_("This mode is not pinned, or it is off already."))
    return mine
