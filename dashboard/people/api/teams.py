"""Teams: which there are, for administrators, who make, rename and remove them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db.models import Count, Q
from django.http import HttpRequest
from ninja import Path, Router
from ninja.responses import Status
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import auth, paging
from dashboard.api.errors import not_found_error
from dashboard.api.paging import MAX_ID, Above, Limit
from dashboard.models import Team
from dashboard.people.services import teams

router = Router(tags=["teams"])
TeamId = Annotated[int, Path(ge=1, le=MAX_ID, description="The team's id")]

_TEAM: dict[str, Any] = {
    "id": 2,
    "name": "search",
    "endpoints": 3,
    "people": 5,
    "created_at": "2026-04-01T08:00:00Z",
}


class TeamOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_TEAM]})

    id: int
    name: str
    endpoints: int = Field(description="How many it has")
    people: int = Field(description="How many have a role in it")
    created_at: datetime


class TeamList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"teams": [_TEAM], "next_cursor": None}]}
    )

    teams: list[TeamOut]
    next_cursor: int | None = Field(description=paging.NEXT)


class TeamIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "search"}]})

    name: str = Field(min_length=1, max_length=teams.MAX_NAME_LENGTH)


@router.get("", auth=auth.READ_ADMIN, response=TeamList, summary="List teams")
def list_teams(request: HttpRequest, cursor: Above = 0, limit: Limit = 100) -> TeamList:
    """In the order in which they were made."""
    rows = _teams_with_counts().filter(pk__gt=cursor).order_by("pk")
    page, next_cursor = paging.cut_page(rows, limit, lambda row: int(row.pk))
    return TeamList(teams=[_team_out(row) for row in page], next_cursor=next_cursor)


@router.post("", auth=auth.ADMINISTER, response={201: TeamOut}, summary="Make a team")
def make_team(request: HttpRequest, body: TeamIn) -> Status[TeamOut]:
    """Without endpoints and people; an endpoint names its team, a role is given in one."""
    team = teams.create_team(name=body.name, by=auth.token_owner(request))
    return Status(201, _team_out(_find_team(team.pk)))


@router.patch(
    "/{int:team_id}", auth=auth.ADMINISTER, response=TeamOut, summary="Call a team otherwise"
)
def rename_team(request: HttpRequest, team_id: TeamId, body: TeamIn) -> TeamOut:
    teams.rename_team(_find_team(team_id), name=body.name, by=auth.token_owner(request))
    return _team_out(_find_team(team_id))


@router.delete(
    "/{int:team_id}", auth=auth.ADMINISTER, response={204: None}, summary="Remove a team"
)
def remove_team(request: HttpRequest, team_id: TeamId) -> Status[None]:
    """With the roles in it. Refused while it has endpoints."""
    teams.remove_team(_find_team(team_id), by=auth.token_owner(request))
    return Status(204, None)


def _teams_with_counts() -> Any:
    is_kept = Q(endpoints__removed_at=None) & Q(endpoints__isnull=False)
    return Team.objects.annotate(
        endpoint_count=Count("endpoints", filter=is_kept, distinct=True),
        person_count=Count("grants__person", distinct=True),
    )


def _find_team(team_id: int) -> Any:
    team = _teams_with_counts().filter(pk=team_id).first()
    if team is None:
        raise not_found_error("team")
    return team


def _team_out(team: Any) -> TeamOut:
    return TeamOut(
        id=team.pk,
        name=team.name,
        endpoints=team.endpoint_count,
        people=team.person_count,
        created_at=team.created_at,
    )
