"""Sends notices about rollout requests and stages, with their figures and outcomes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from dashboard.models import Endpoint, Incident, Notice, Profile, RolloutRequest
from dashboard.notifications.services import outbox

_STATES = {
    "approved": "approved by {name}",
    "rejected": "rejected by {name}",
    "withdrawn": "withdrawn by {name}",
    "voided": "void, because what it rests on has changed",
    "expired": "over, because nobody decided in time",
}


def notify_requested(endpoint: Endpoint, request: RolloutRequest) -> None:
    """Notify that a request needs a decision."""
    who = request.requested_by.get_username()
    title = f"{endpoint.slug}: {who} asks {_subject(request)}"
    text = "\n".join([f"Reason: {request.reason}", *_figure_lines(request)])
    _put_notice(Notice.Kind.ROLLOUT_REQUESTED, endpoint, request, title, text)


def notify_decided(endpoint: Endpoint, request: RolloutRequest, *, by: User | None) -> None:
    """Notify that a request has ended, and how."""
    name = by.get_username() if by else "nobody"
    how = _STATES[request.state].format(name=name)
    title = f"{endpoint.slug}: the request {_subject(request)} is {how}"
    changed = [
        f"{part}: it was {before}, and is {after} now" for part, before, after in _changes(request)
    ]
    lines = [f"Reason: {request.decision_reason}" if request.decision_reason else "", *changed]
    text = "\n".join([line for line in lines if line])
    _put_notice(Notice.Kind.ROLLOUT_DECIDED, endpoint, request, title, text)


def notify_stepped_back(
    profile: Profile,
    *,
    before: str,
    by: User | None,
    reason: str,
    incident: Incident | None = None,
) -> None:
    """Notify that a profile was moved to a tighter stage."""
    who = f" by {by.get_username()}" if by else " by itself"
    body: dict[str, Any] = {
        "title": f"{profile.endpoint.slug}: stepped back from {before} to {profile.stage}{who}",
        "text": f"{reason}\nGoing forward again takes a request and a decision.",
        "severity": incident.severity if incident else 1,
        "metric": incident.metric if incident else None,
        "figures": incident.figures if incident else {},
        "stage": profile.stage,
    }
    outbox.put_notice(
        Notice.Kind.STAGE_CHANGED, endpoint=profile.endpoint, incident=incident, body=body
    )


def _put_notice(
    kind: Notice.Kind, endpoint: Endpoint, request: RolloutRequest, title: str, text: str
) -> None:
    body = {
        "title": title,
        "text": text,
        "request": request.pk,
        "state": request.state,
        "figures": request.evidence.get("figures", {}),
    }
    outbox.put_notice(kind, endpoint=endpoint, body=body)


def _subject(request: RolloutRequest) -> str:
    if request.switch is not None:
        return f"to let go of {request.switch.mode}"
    return (
        f"for {request.to_stage} (it is at {request.from_stage}, profile {request.profile.epoch})"
    )


def _figure_lines(request: RolloutRequest) -> list[str]:
    return [
        f"{name}: {counts['failures']} of {counts['trials']} trials failed, "
        f"p_ref {counts['p_ref']:.3f}"
        for name, counts in request.evidence.get("figures", {}).items()
    ]


def _changes(request: RolloutRequest) -> list[tuple[str, str, str]]:
    return [(part, before, after) for part, before, after in request.changed]
