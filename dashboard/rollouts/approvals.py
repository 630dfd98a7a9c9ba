"""What waits for a person to decide, from wherever in the product it comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.core.permissions import Actor, Right
from dashboard.models import Endpoint, Incident, RolloutRequest
from dashboard.models.people import Teams
from dashboard.rollouts import who_decides
from dashboard.rollouts.text import asked_for

MOST = 20


@dataclass(frozen=True, slots=True)
class Viewer:
    """Whoever looks: what they may see, and what they may decide on."""

    user: User
    actor: Actor

    @property
    def teams(self) -> Teams:
        return self.actor.teams(Right.READ)


@dataclass(frozen=True, slots=True)
class Decision:
    """One question to a person; `key` names it for as long as it is the same question."""

    key: str
    endpoint: str
    question: str
    since: datetime
    address: str


def pending(viewer: Viewer) -> list[Decision]:
    """All that waits of their teams, the oldest first. A new kind of question joins here."""
    found = [*_releases(viewer.teams), *_requests(viewer)]
    return sorted(found, key=lambda decision: decision.since)[:MOST]


def _requests(viewer: Viewer) -> list[Decision]:
    """Requests that this person may decide on; what they asked for themselves they may not."""
    if not viewer.actor.may_somewhere(Right.DECIDE):
        return []
    theirs = Endpoint.objects.kept().of_teams(viewer.actor.teams(Right.DECIDE))
    waiting = RolloutRequest.objects.pending().filter(profile__endpoint__in=theirs)
    found = waiting.select_related("profile__endpoint", "switch", "requested_by")
    return [
        Decision(
            key=f"request-{request.pk}",
            endpoint=request.profile.endpoint.slug,
            question=_("{name} asks: {what}").format(
                name=request.requested_by.get_username(), what=asked_for(request)
            ),
            since=request.requested_at,
            address=request.get_absolute_url(),
        )
        for request in found.order_by("requested_at")[: 2 * MOST]
        if who_decides.may_decide(request, viewer.user, viewer.actor)
    ]


def _releases(teams: Teams) -> list[Decision]:
    """Incidents that could be left, but are so severe that somebody has to allow it."""
    waiting = Incident.objects.filter(
        ended_at=None, release_wanted=True, profile__endpoint__removed_at=None
    ).select_related("profile__endpoint")
    if teams is not None:
        waiting = waiting.filter(profile__endpoint__team__in=teams)
    return [
        Decision(
            key=f"release-{incident.pk}",
            endpoint=incident.profile.endpoint.slug,
            question=_("Its figures are back to normal. May its most careful modes be left?"),
            since=incident.opened_at,
            address=reverse("incident", args=[incident.pk]) + "#release",
        )
        for incident in waiting.order_by("opened_at")[:MOST]
    ]
