"""Ends requests without a decision: their evidence has changed, or they have expired."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.core.sql import set_idle_timeout
from dashboard.models import Endpoint, RolloutRequest
from dashboard.models.audit import Action
from dashboard.trust import decision_evidence, rollout_notices
from dashboard.trust.decision_evidence import EvidenceChange
from dashboard.trust.rollout_audit import audit_request

State = RolloutRequest.State


def void_changed_requests(endpoint: Endpoint) -> int:
    """Void the pending requests whose evidence has changed; the endpoint is locked."""
    pending = RolloutRequest.objects.pending().filter(profile__endpoint=endpoint)
    ended = 0
    for request in pending.select_related("profile").order_by("id"):
        if changes := decision_evidence.find_evidence_changes(request):
            void_request(endpoint, request, changes)
            ended += 1
    return ended


def void_all_changed_requests() -> int:
    """The same for every endpoint: for a change that concerns all requests, such as new gates."""
    pending = RolloutRequest.objects.pending().values("profile__endpoint")
    endpoints = Endpoint.objects.filter(pk__in=pending).select_for_update().order_by("pk")
    return sum(void_changed_requests(endpoint) for endpoint in endpoints)


def expire_requests() -> int:
    """End the requests past their time; returns how many. Concurrent calls are safe."""
    due = RolloutRequest.objects.pending().filter(expires_at__lte=Now()).order_by("id")
    return sum(_expire_request(request) for request in due.select_related("profile"))


@transaction.atomic
def _expire_request(request: RolloutRequest) -> bool:
    set_idle_timeout()
    endpoint = Endpoint.objects.select_for_update().get(pk=request.profile.endpoint_id)
    return expire_if_due(endpoint, request) is not None


def void_request(
    endpoint: Endpoint, request: RolloutRequest, changes: list[EvidenceChange]
) -> None:
    """End a request whose evidence has changed, and store the changes."""
    RolloutRequest.objects.pending().filter(pk=request.pk).update(
        state=State.VOIDED, decided_at=Now(), changed=[each.as_json() for each in changes]
    )
    request.refresh_from_db()
    reason = "; ".join(f"{each.part}: {each.before} -> {each.after}" for each in changes)
    audit_request(Action.ROLLOUT_VOIDED, endpoint, request, by=None, reason=reason)
    rollout_notices.notify_decided(endpoint, request, by=None)


def expire_if_due(endpoint: Endpoint, request: RolloutRequest) -> str | None:
    """End a request past its time and return the message for it; None if it is not due."""
    due = RolloutRequest.objects.pending().filter(pk=request.pk, expires_at__lte=Now())
    if not due.update(state=State.EXPIRED, decided_at=Now()):
        return None
    request.refresh_from_db()
    audit_request(Action.ROLLOUT_EXPIRED, endpoint, request, by=None, reason="")
    rollout_notices.notify_decided(endpoint, request, by=None)
    return _("The request has run out; ask again.")
