"""What waits for a person to decide, from wherever in the product it comes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from dashboard.models import Incident
from dashboard.models.team import Teams

MOST = 20


@dataclass(frozen=True, slots=True)
class Decision:
    """One question to a person; `key` names it for as long as it is the same question."""

    key: str
    endpoint: str
    question: str
    since: datetime
    address: str


def pending(teams: Teams) -> list[Decision]:
    """All that waits of those teams, the oldest first. A new kind of question joins here."""
    return sorted(_releases(teams), key=lambda decision: decision.since)[:MOST]


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
