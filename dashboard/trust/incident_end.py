"""Ends incidents and their modes, and records events in the history of a profile."""

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


def end_profile_incidents(profile: Profile, *, reason: str, at: datetime | None = None) -> None:
    """End the open incidents and modes of a superseded profile; the endpoint is locked."""
    for incident in profile.incidents.filter(ended_at=None):
        watch = Watch.objects.state_of(profile, Lane(incident.lane))
        metric, kind = Metric(incident.metric), ChangeKind.SUPERSEDED.value
        event = record_event(profile, metric, kind, watch.last, incident=incident, at=at)
        end_incident(incident, Incident.State.SUPERSEDED, event, reason=reason)
    modes.end_all_switches(profile, reason=reason, at=at)


def end_incident(
    incident: Incident, state: Incident.State, event: WatchEvent, *, reason: str
) -> None:
    """End an incident and the modes it switched on; the event records why."""
    incident.state, incident.ended_at, incident.release_wanted = state, event.at, False
    incident.save(update_fields=["state", "ended_at", "release_wanted"])
    WatchEvent.objects.filter(pk=event.pk).update(incident=incident)
    modes.apply_incident(incident, reason=reason, figures={}, at=event.at, tighten=False)


def record_event(  # noqa: PLR0913 -- keyword-only: the columns of an event
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
    """Append an event to the profile's history that does not come from a run."""
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
