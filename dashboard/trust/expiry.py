"""Requests that end without a decision: their ground has changed, or their time is over."""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from dashboard.core.sql import set_idle_timeout
from dashboard.models import Endpoint, RolloutRequest
from dashboard.models.audit import Action
from dashboard.trust import decision_evidence, rollout_notices
from dashboard.trust.decision_evidence import Changed
from dashboard.trust.rollout_audit import record

State = RolloutRequest.State


def void_changed(endpoint: Endpoint) -> int:
    """End the pending requests whose ground has changed; the endpoint is locked."""
    pending = RolloutRequest.objects.pending().filter(profile__endpoint=endpoint)
    ended = 0
    for request in pending.select_related("profile").order_by("id"):
        if changed := decision_evidence.differences(request):
            void(endpoint, request, changed)
            ended += 1
    return ended


def void_all() -> int:
    """The same for every endpoint: for what all requests rest on, such as the gates."""
    pending = RolloutRequest.objects.pending().values("profile__endpoint")
    endpoints = Endpoint.objects.filter(pk__in=pending).select_for_update().order_by("pk")
    return sum(void_changed(endpoint) for endpoint in endpoints)


def expire() -> int:
    """End the requests that nobody decided on in time; returns how many. Any number at once."""
    due = RolloutRequest.objects.pending().filter(expires_at__lte=Now()).order_by("id")
    return sum(_expire(request) for request in due.select_related("profile"))


@transaction.atomic
def _expire(request: RolloutRequest) -> bool:
    set_idle_timeout()
    endpoint = Endpoint.objects.select_for_update().get(pk=request.profile.endpoint_id)
    return run_out(endpoint, request) is not None


def void(endpoint: Endpoint, request: RolloutRequest, changed: list[Changed]) -> None:
    """End a request whose ground has changed, with what changed."""
    RolloutRequest.objects.pending().filter(pk=request.pk).update(
        state=State.VOIDED, decided_at=Now(), changed=[each.as_json() for each in changed]
    )
    request.refresh_from_db()
    told = "; ".join(f"{each.part}: {each.before} -> {each.after}" for each in changed)
    record(Action.ROLLOUT_VOIDED, endpoint, request, by=None, reason=told)
    rollout_notices.decided(endpoint, request, by=None)


def run_out(endpoint: Endpoint, request: RolloutRequest) -> str | None:
    """End a request whose time is over, and say so; None where it is not."""
    over = RolloutRequest.objects.pending().filter(pk=request.pk, expires_at__lte=Now())
    if not over.update(state=State.EXPIRED, decided_at=Now()):
        return None
    request.refresh_from_db()
    record(Action.ROLLOUT_EXPIRED, endpoint, request, by=None, reason="")
    rollout_notices.decided(endpoint, request, by=None)
    return _("The request has run out; ask again.")
