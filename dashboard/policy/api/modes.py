"""API of the modes of an endpoint: listing them, switching them on and off."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Path, Query, Router
from ninja.responses import Status
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

from dashboard.api import auth, paging
from dashboard.api.errors import not_found_error
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.api.paging import MAX_ID, Above, Limit
from dashboard.core.permissions import Right
from dashboard.models import ModeSwitch
from dashboard.trust import modes as service
from health.modes import EFFECTS, Mode

router = Router(tags=["modes"])

_SWITCH: dict[str, Any] = {
    "id": 31,
    "mode": "no_parallel",
    "effect": EFFECTS[Mode.NO_PARALLEL],
    "automatic": False,
    "pinned": False,
    "reason": "The agent mixes up results while we upgrade it.",
    "author": "alice",
    "incident": None,
    "since": "2026-05-01T09:30:00Z",
    "expires_at": "2026-05-02T09:30:00Z",
    "off_at": None,
}


class ModeIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"mode": "no_parallel", "reason": "Upgrading.", "lasts_s": 86400}]
        },
    )

    mode: Mode
    reason: str = Field(description="Why: others will want to know it")
    pinned: StrictBool = Field(
        default=False, description="One person pins it; to let go of it takes two"
    )
    lasts_s: StrictInt | None = Field(
        default=None,
        ge=1,
        le=int(service.MAX_DURATION.total_seconds()),
        description="Seconds; null: until it is switched off",
    )


class SwitchOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_SWITCH]})

    id: int
    mode: Mode
    effect: str
    automatic: bool = Field(description="By an incident; otherwise by a person")
    pinned: bool = Field(description="To let go of it takes a request that somebody else approves")
    reason: str
    author: str | None
    incident: int | None
    since: datetime
    expires_at: datetime | None
    off_at: datetime | None


class SwitchList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"modes": [_SWITCH], "next_cursor": None}]}
    )

    modes: list[SwitchOut]
    next_cursor: int | None = Field(description=paging.NEXT)


@router.get(
    "/{slug:slug}/modes",
    auth=auth.READ,
    response=SwitchList,
    summary="List the modes that are on, by incidents and by people",
)
def list_modes(
    request: HttpRequest, slug: Slug, cursor: Above = 0, limit: Limit = 100
) -> SwitchList:
    """Modes that hold because too little is known are told by the policy, not here."""
    on = find_endpoint(slug).profile_in_force.switches.on().filter(pk__gt=cursor)
    switches = on.select_related("author").order_by("id")
    page, next_cursor = paging.cut_page(switches, limit, lambda switch: switch.pk)
    return SwitchList(modes=[switch_out(switch) for switch in page], next_cursor=next_cursor)


@router.post(
    "/{slug:slug}/modes", auth=auth.TIGHTEN, response={201: SwitchOut}, summary="Switch a mode on"
)
def switch_mode_on(request: HttpRequest, slug: Slug, body: ModeIn) -> Status[SwitchOut]:
    """It holds for every caller at once: the policy has a new version with the answer."""
    lasts = None if body.lasts_s is None else timedelta(seconds=body.lasts_s)
    by = auth.request_token(request).created_by
    switch = service.switch_on(
        find_endpoint(slug).profile_in_force,
        body.mode,
        by=by,
        reason=body.reason,
        lasts=lasts,
        pinned=body.pinned,
    )
    return Status(201, switch_out(switch))


@router.delete(
    "/{slug:slug}/modes/{int:switch_id}",
    auth=auth.TIGHTEN,
    response={204: None},
    summary="Switch a mode off",
)
def switch_mode_off(
    request: HttpRequest,
    slug: Slug,
    switch_id: Annotated[int, Path(ge=1, le=MAX_ID, description="The `id` in the list")],
    reason: Annotated[str, Query(description="Needed for a mode that an incident wants")] = "",
) -> Status[None]:
    """What an incident switched on stays off until the incident becomes more severe; switching
    that off is a decision and needs the scope `decide`."""
    on = ModeSwitch.objects.filter(profile__endpoint=find_endpoint(slug), off_at=None)
    switch = on.filter(pk=switch_id).select_related("profile__endpoint").first()
    if switch is None:
        raise not_found_error("mode that is on")
    if switch.incident_id is not None:
        auth.require_right(request, Right.DECIDE, switch.profile.endpoint.team_id)
    by = auth.request_token(request).created_by
    if not service.switch_off(switch, by=by, reason=reason):
        raise not_found_error("mode that is on")
    return Status(204, None)


def switch_out(switch: ModeSwitch) -> SwitchOut:
    mode = Mode(switch.mode)
    return SwitchOut(
        id=switch.pk,
        mode=mode,
        effect=EFFECTS[mode],
        automatic=switch.incident_id is not None,
        pinned=switch.pinned,
        reason=switch.reason,
        author=switch.author.get_username() if switch.author else None,
        incident=switch.incident_id,
        since=switch.on_at,
        expires_at=switch.expires_at,
        off_at=switch.off_at,
    )
