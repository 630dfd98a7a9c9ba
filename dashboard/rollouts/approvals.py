"""Pending decisions: rollout requests, and incidents that await their release."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.core.permissions import Actor, Right
from dashboard.models import Endpoint, Incident, RolloutRequest
from dashboard.models.people import Teams
from dashboard.rollouts import decision_rights
from dashboard.rollouts.text import request_label

MAX_DECISIONS = 20


@dataclass(frozen=True, slots=True)
class Viewer:
    """The signed-in user with their rights."""

    user: User
    actor: Actor

    @property
    def teams(self) -> Teams:
        return self.actor.teams(Right.READ)


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A question to a user. `key` identifies it for as long as the question is the same."""

    key: str
    endpoint: str
    question: str
    since: datetime
    address: str


def read_pending_decisions(viewer: Viewer) -> list[PendingDecision]:
    """The pending decisions of the viewer's teams, oldest first."""
    decisions = [*_pending_releases(viewer.teams), *_pending_requests(viewer)]
    return sorted(decisions, key=lambda decision: decision.since)[:MAX_DECISIONS]


def _pending_requests(viewer: Viewer) -> list[PendingDecision]:
    """The requests that the viewer may decide on."""
    if not viewer.actor.may_somewhere(Right.DECIDE):
        return []
    endpoints = Endpoint.objects.kept().of_teams(viewer.actor.teams(Right.DECIDE))
    pending = RolloutRequest.objects.pending().filter(profile__endpoint__in=endpoints)
    requests = pending.select_related("profile__endpoint", "switch", "requested_by")
    return [
        PendingDecision(
            key=f"request-{request.pk}",
            endpoint=request.profile.endpoint.slug,
            question=_("{name} asks: {what}").format(
                name=request.requested_by.get_username(), what=request_label(request)
            ),
            since=request.requested_at,
            address=request.get_absolute_url(),
        )
        for request in requests.order_by("requested_at")[: 2 * MAX_DECISIONS]
        if decision_rights.may_decide(request, viewer.user, viewer.actor)
    ]


def _pending_releases(teams: Teams) -> list[PendingDecision]:
    """Incidents that have recovered but whose severity requires an approval to release."""
    incidents = Incident.objects.filter(
        ended_at=None, release_wanted=True, profile__endpoint__removed_at=None
    ).select_related("profile__endpoint")
    if teams is not None:
        incidents = incidents.filter(profile__endpoint__team__in=teams)
    return [
        PendingDecision(
            key=f"release-{incident.pk}",
            endpoint=incident.profile.endpoint.slug,
            question=_("It has recovered. Release its fallback modes?"),
            since=incident.opened_at,
            address=reverse("incident", args=[incident.pk]) + "#release",
        )
        for incident in incidents.order_by("opened_at")[:MAX_DECISIONS]
    ]
