"""What happened to a request, from asking to its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from dashboard.models import RolloutRequest

_State = RolloutRequest.State


@dataclass(frozen=True, slots=True)
class Moment:
    kind: str
    at: datetime
    title: str
    by: str = ""
    note: str = ""


def finding(request: RolloutRequest) -> str:
    """Where the request is, in one sentence with a name where there is one."""
    told = {
        "asked": request.requested_by.get_username(),
        "decided": request.decided_by.get_username() if request.decided_by else "",
    }
    match _State(request.state):
        case _State.PENDING:
            said = _("Asked for by {asked}, and decided on by nobody yet.")
        case _State.APPROVED:
            said = _("Asked for by {asked}, approved by {decided}.")
        case _State.REJECTED:
            said = _("Asked for by {asked}, rejected by {decided}.")
        case _State.WITHDRAWN:
            said = _("Asked for by {asked}, and taken back.")
        case _State.VOIDED:
            said = _("Asked for by {asked}. It ended undecided: what it rested on changed.")
        case _State.EXPIRED:
            said = _("Asked for by {asked}. Nobody decided in time.")
    return said.format(**told)


def moments(request: RolloutRequest) -> list[Moment]:
    """The oldest first."""
    name = request.requested_by.get_username()
    asked = Moment("asked", request.requested_at, _("Asked for"), name, request.reason)
    if request.decided_at is None:
        return [asked]
    by = request.decided_by.get_username() if request.decided_by else ""
    note = request.decision_reason
    return [asked, Moment(request.state, request.decided_at, _title(request), by, note)]


def _title(request: RolloutRequest) -> str:
    return {
        _State.APPROVED.value: _("Approved"),
        _State.REJECTED.value: _("Rejected"),
        _State.WITHDRAWN.value: _("Withdrawn"),
        _State.VOIDED.value: _("Void"),
        _State.EXPIRED.value: _("Expired"),
    }[request.state]
