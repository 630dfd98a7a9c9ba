"""API of incidents: listing them, and acknowledging, releasing or accepting one."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Path, Query, Router

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, not_found_error
from dashboard.api.paging import MAX_ID, Below, Limit
from dashboard.incidents.schemas import (
    IncidentDetail,
    IncidentList,
    NoteIn,
    incident_detail,
    incident_out,
)
from dashboard.models import Incident
from dashboard.models.watch import Lane
from dashboard.trust import detection
from probes.outcomes import Metric

router = Router(tags=["incidents"])
IncidentId = Annotated[int, Path(ge=1, le=MAX_ID, description="The incident's id")]


@router.get("", auth=auth.READ, response=IncidentList, summary="List incidents, newest first")
def list_incidents(
    request: HttpRequest,
    state: Annotated[Incident.State | None, Query(description="Only those in this state")] = None,
    endpoint: Annotated[str, Query(description="Only those of this endpoint")] = "",
    cursor: Below = MAX_ID,
    limit: Limit = 50,
) -> IncidentList:
    incidents = _team_incidents(auth.readable_teams(request)).filter(pk__lt=cursor)
    if state:
        incidents = incidents.filter(state=state)
    if endpoint:
        incidents = incidents.filter(profile__endpoint__slug=endpoint.replace("\0", ""))
    page, next_cursor = paging.cut_page(incidents.order_by("-id"), limit, lambda each: each.pk)
    return IncidentList(
        incidents=[incident_out(incident) for incident in page], next_cursor=next_cursor
    )


@router.get(
    "/{int:incident_id}", auth=auth.READ, response=IncidentDetail, summary="Read one incident"
)
def read_incident(request: HttpRequest, incident_id: IncidentId) -> IncidentDetail:
    """With all that was noticed or done since, and the modes that it switched on."""
    return incident_detail(_find_incident(incident_id))


@router.post(
    "/{int:incident_id}/acknowledge",
    auth=auth.OPERATE,
    response=IncidentDetail,
    summary="Say that somebody has seen it",
)
def acknowledge_incident(
    request: HttpRequest, incident_id: IncidentId, body: NoteIn
) -> IncidentDetail:
    """Changes nothing but that; a second time changes nothing at all."""
    by = auth.request_token(request).created_by
    # The note is optional here, so the service does not check it.
    note = body.note.replace("\0", "")
    detection.acknowledge_incident(_find_incident(incident_id), by=by, note=note)
    return incident_detail(_find_incident(incident_id))


@router.post(
    "/{int:incident_id}/release",
    auth=auth.DECIDE,
    response=IncidentDetail,
    summary="Allow a most severe incident to be left",
)
def release_incident(request: HttpRequest, incident_id: IncidentId, body: NoteIn) -> IncidentDetail:
    """Its modes are let go as soon as its runs speak for it, as they are for milder ones."""
    by = auth.token_owner(request)
    detection.release_incident(_find_incident(incident_id), by=by, note=body.note)
    return incident_detail(_find_incident(incident_id))


@router.post(
    "/{int:incident_id}/accept",
    auth=auth.DECIDE,
    response=IncidentDetail,
    summary="Take what the endpoint does now for normal",
)
def accept_incident(request: HttpRequest, incident_id: IncidentId, body: NoteIn) -> IncidentDetail:
    """Ends the incident. The runs since it opened are the new baseline, and more runs are due."""
    incident = _find_incident(incident_id)
    if incident.ended_at is not None:
        raise ApiError(409, "This incident is over.")
    if incident.lane != Lane.PROBE:
        raise ApiError(409, "Only incidents of the probe lane can be accepted.")
    by = auth.token_owner(request)
    detection.accept_baseline(incident.profile, Metric(incident.metric), by=by, note=body.note)
    return incident_detail(_find_incident(incident_id))


def _find_incident(incident_id: int) -> Incident:
    incident = _kept_incidents().filter(pk=incident_id).first()
    if incident is None:
        raise not_found_error("incident")
    return incident


def _team_incidents(teams: Collection[int] | None) -> QuerySet[Incident]:
    kept = _kept_incidents()
    return kept if teams is None else kept.filter(profile__endpoint__team__in=teams)


def _kept_incidents() -> QuerySet[Incident]:
    kept = Incident.objects.filter(profile__endpoint__removed_at=None)
    return kept.select_related("profile__endpoint", "acknowledged_by")
