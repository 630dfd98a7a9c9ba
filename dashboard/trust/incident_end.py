"""Ending incidents with their modes, and the entries that this leaves in a profile's history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models.functions import Now

from dashboard.models import Incident, Profile, Watch, WatchEvent
from dashboard.models.watch import Lane
from dashboard.trust import modes
from health.watch import ChangeKind
from probes.outcomes import Metric


def end_incidents_of(profile: Profile, *, reason: str, at: datetime | None = None) -> None:
    """End the open incidents and modes of a profile that is over; the endpoint is locked."""
    for incident in profile.incidents.filter(ended_at=None):
        watch = Watch.objects.state_of(profile, Lane(incident.lane))
        metric, kind = Metric(incident.metric), ChangeKind.SUPERSEDED.value
        event = record_act(profile, metric, kind, watch.last, incident=incident, at=at)
        end_incident(incident, Incident.State.SUPERSEDED, event, reason=reason)
    modes.drop_all(profile, reason=reason, at=at)


def end_incident(
    incident: Incident, state: Incident.State, event: WatchEvent, *, reason: str
) -> None:
    """End an incident for what the event records, and the modes that it switched on."""
    incident.state, incident.ended_at, incident.release_wanted = state, event.at, False
    incident.save(update_fields=["state", "ended_at", "release_wanted"])
    WatchEvent.objects.filter(pk=event.pk).update(incident=incident)
    modes.follow(incident, reason=reason, figures={}, at=event.at, tighten=False)


def record_act(  # noqa: PLR0913 -- keyword-only: the columns of an event
    profile: Profile,
    metric: Metric,
    kind: str,
    after: int,
    *,
    by: User | None = None,
    note: str = "",
    figures: dict[str, Any] | None = None,
    incident: Incident | None = None,
    at: datetime | None = None,
) -> WatchEvent:
    """Append an event to the profile's history that follows from no run."""
    event = WatchEvent.objects.create(
        profile=profile,
        incident=incident,
        metric=metric.value,
        kind=kind,
        at=at or Now(),
        after=after,
        figures=figures or {},
        by=by,
        note=note,
        lane=incident.lane if incident else Lane.PROBE,
        severity=incident.severity if incident else None,
    )
    event.refresh_from_db()
    return event
