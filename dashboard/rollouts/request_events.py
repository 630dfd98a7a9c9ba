"""The history of a request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from dashboard.models import RolloutRequest

_State = RolloutRequest.State


@dataclass(frozen=True, slots=True)
class RequestEvent:
    kind: str
    at: datetime
    title: str
    by: str = ""
    note: str = ""


def describe_state(request: RolloutRequest) -> str:
    """The state of the request as a sentence, with the people involved."""
    names = {
        "asked": request.requested_by.get_username(),
        "decided": request.decided_by.get_username() if request.decided_by else "",
    }
    match _State(request.state):
        case _State.PENDING:
            text = _("Asked for by {asked}, and decided on by nobody yet.")
        case _State.APPROVED:
            text = _("Asked for by {asked}, approved by {decided}.")
        case _State.REJECTED:
            text = _("Asked for by {asked}, rejected by {decided}.")
        case _State.WITHDRAWN:
            text = _("Asked for by {asked}, and taken back.")
        case _State.VOIDED:
            text = _("Asked for by {asked}. It ended undecided: what it rested on changed.")
        case _State.EXPIRED:
            text = _("Asked for by {asked}. Nobody decided in time.")
    return text.format(**names)


def list_events(request: RolloutRequest) -> list[RequestEvent]:
    """Oldest first."""
    name = request.requested_by.get_username()
    requested = RequestEvent("asked", request.requested_at, _("Asked for"), name, request.reason)
    if request.decided_at is None:
        return [requested]
    by = request.decided_by.get_username() if request.decided_by else ""
    note = request.decision_reason
    return [
        requested,
        RequestEvent(request.state, request.decided_at, _decision_title(request), by, note),
    ]


def _decision_title(request: RolloutRequest) -> str:
    return {
        _State.APPROVED.value: _("Approved"),
        _State.REJECTED.value: _("Rejected"),
        _State.WITHDRAWN.value: _("Withdrawn"),
        _State.VOIDED.value: _("Void"),
        _State.EXPIRED.value: _("Expired"),
    }[request.state]
