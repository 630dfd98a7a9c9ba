"""Writes audit entries about rollout requests."""

from __future__ import annotations

from django.contrib.auth.models import User

from dashboard.audit import services as audit
from dashboard.models import Endpoint, RolloutRequest
from dashboard.models.audit import Action


def audit_request(
    action: Action, endpoint: Endpoint, request: RolloutRequest, *, by: User | None, reason: str
) -> None:
    """Record what happened to a request, with the hash of its evidence."""
    is_approved = request.state == RolloutRequest.State.APPROVED
    after = {
        "stage": request.to_stage if is_approved else request.from_stage,
        "state": request.state,
        "kind": request.kind,
        "asked_for": request.to_stage,
        "mode": request.switch.mode if request.switch else None,
        "epoch": request.profile.epoch,
        "digest": bytes(request.digest).hex(),
        "gates": request.gates_id,
        "requested_by": request.requested_by.get_username(),
        "four_eyes": request.four_eyes,
    }
    if is_approved and request.decided_by_id == request.requested_by_id:
        after["warning"] = (
            "approved by the person who had asked, because four eyes are switched off"
        )
    audit.record(
        action,
        subject=f"request {request.pk}",
        endpoint=endpoint,
        by=by,
        reason=reason,
        before={"stage": request.from_stage},
        after=after,
    )
