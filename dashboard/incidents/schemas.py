"""Incidents in the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dashboard.models import Incident, WatchEvent
from dashboard.models.watch import Lane
from dashboard.policy.api.modes import SwitchOut, switch_out
from dashboard.trust.detection import incident_headline

_FIGURES = {
    "trials": 20,
    "failures": 9,
    "reference": 0.93,
    "estimate": 0.61,
    "rate": 0.61,
    "latest": [22, 36, 3],
    "known": "frozen",
}
_INCIDENT: dict[str, Any] = {
    "id": 17,
    "endpoint": "vllm-qwen3",
    "epoch": 2,
    "metric": "parse_success",
    "lane": "probe",
    "headline": "Parse success fell from 98% to 61%",
    "severity": 2,
    "worst": 2,
    "refused": False,
    "state": "open",
    "figures": _FIGURES,
    "opened_at": "2026-05-01T12:01:00Z",
    "ended_at": None,
    "release_wanted": False,
    "acknowledged_at": None,
    "acknowledged_by": None,
}
_EVENT: dict[str, Any] = {
    "kind": "opened",
    "at": "2026-05-01T12:01:00Z",
    "severity": 2,
    "figures": _FIGURES,
    "by": None,
    "note": "",
}


class IncidentOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_INCIDENT]})

    id: int
    endpoint: str
    epoch: int = Field(description="Which profile of the endpoint")
    metric: str
    lane: str = Field(description="probe or live: whose trials it rests on")
    headline: str
    severity: int = Field(description="1 to 3, as it is now")
    worst: int = Field(description="as it was at worst")
    refused: bool = Field(description="The endpoint refused, which needs no statistics")
    state: str = Field(description="open; recovered, accepted, superseded")
    figures: dict[str, Any] = Field(
        description="Of the runs that opened it: `rate` is the mean success rate of the runs since "
        "the change, `latest` their successes, trials and number; `worst` of the runs that made it "
        "most severe"
    )
    opened_at: datetime
    ended_at: datetime | None
    release_wanted: bool = Field(
        description="It has recovered and awaits release; false again once later runs are bad"
    )
    acknowledged_at: datetime | None
    acknowledged_by: str | None


class IncidentList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"incidents": [_INCIDENT], "next_cursor": 17}]}
    )

    incidents: list[IncidentOut]
    next_cursor: int | None = Field(description="Give it as `cursor` for older incidents")


class EventOut(BaseModel):
    kind: str = Field(
        description="opened, escalated, eased, release_wanted, release_withdrawn, recovered, …"
    )
    at: datetime
    severity: int | None
    figures: dict[str, Any]
    by: str | None
    note: str


class IncidentDetail(IncidentOut):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{**_INCIDENT, "events": [_EVENT], "switches": []}]}
    )

    events: list[EventOut] = Field(description="All that was noticed or done, oldest first")
    switches: list[SwitchOut] = Field(description="The modes that it switched on, also past ones")


class NoteIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"note": "The vendor has confirmed the new template."}]},
    )

    note: str = Field(default="", description="Why: others will want to know it")


def incident_out(incident: Incident) -> IncidentOut:
    return IncidentOut(**_fields(incident))


def incident_detail(incident: Incident) -> IncidentDetail:
    events = incident.events.select_related("by").order_by("id")
    switches = incident.switches.select_related("author").order_by("id")
    return IncidentDetail(
        **_fields(incident),
        events=[_event_out(event) for event in events],
        switches=[switch_out(switch) for switch in switches],
    )


def _fields(incident: Incident) -> dict[str, Any]:
    same = ("id", "metric", "severity", "worst", "refused", "state", "figures", "opened_at")
    more = ("ended_at", "release_wanted", "acknowledged_at")
    by = incident.acknowledged_by
    return {
        **{name: getattr(incident, name) for name in (*same, *more)},
        "endpoint": incident.profile.endpoint.slug,
        "epoch": incident.profile.epoch,
        "lane": Lane(incident.lane).name.lower(),
        "headline": incident_headline(incident),
        "acknowledged_by": by.get_username() if by else None,
    }


def _event_out(event: WatchEvent) -> EventOut:
    same = ("kind", "at", "severity", "figures", "note")
    by = event.by.get_username() if event.by else None
    return EventOut(**{name: getattr(event, name) for name in same}, by=by)
