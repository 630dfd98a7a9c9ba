"""People and their roles, for administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Path, Router
from ninja.responses import Status
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from dashboard.api import auth, paging
from dashboard.api.errors import not_found_error
from dashboard.api.paging import MAX_ID, Above, Limit
from dashboard.models import Grant, Team
from dashboard.models.people import Role
from dashboard.people.services import people, roles
from dashboard.rollouts.schemas import ReasonMayBeIn

router = Router(tags=["people"])
PersonId = Annotated[int, Path(ge=1, le=MAX_ID, description="The person's id")]
GrantId = Annotated[int, Path(ge=1, le=MAX_ID, description="The id of the role they have")]

_GRANT: dict[str, Any] = {"id": 9, "role": "operator", "team": 2, "team_name": "search"}
_PERSON: dict[str, Any] = {
    "id": 4,
    "name": "anna",
    "email": "anna@example.org",
    "is_active": True,
    "is_administrator": False,
    "last_signed_in_at": "2026-05-01T12:00:00Z",
    "roles": [_GRANT],
}


class GrantOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_GRANT]})

    id: int
    role: str = Field(description="viewer, operator or approver")
    team: int | None = Field(description="null: it holds for every endpoint")
    team_name: str | None


class GrantIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"role": "operator", "team": 2, "reason": "On call."}]},
    )

    role: Role
    team: StrictInt | None = Field(default=None, ge=1, le=MAX_ID, description="null: everywhere")
    reason: str = Field(default="", max_length=1000)


class PersonOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_PERSON]})

    id: int
    name: str
    email: str
    is_active: bool
    is_administrator: bool
    last_signed_in_at: datetime | None
    roles: list[GrantOut]


class PersonList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"people": [_PERSON], "next_cursor": None}]}
    )

    people: list[PersonOut]
    next_cursor: int | None = Field(description=paging.NEXT)


@router.get("", auth=auth.READ_ADMIN, response=PersonList, summary="List people")
def list_people(request: HttpRequest, cursor: Above = 0, limit: Limit = 100) -> PersonList:
    """With what they may do, in the order in which they came."""
    rows = User.objects.filter(pk__gt=cursor).order_by("pk").prefetch_related("grants__team")
    page, next_cursor = paging.cut_page(rows, limit, lambda row: row.pk)
    return PersonList(people=[_person_out(row) for row in page], next_cursor=next_cursor)


@router.post(
    "/{int:person_id}/roles",
    auth=auth.ADMINISTER,
    response={201: GrantOut},
    summary="Give somebody a role",
)
def give_role(request: HttpRequest, person_id: PersonId, body: GrantIn) -> Status[GrantOut]:
    """In one team or everywhere. Refused for oneself."""
    person = _find_person(person_id)
    team = Team.objects.filter(pk=body.team).first() if body.team else None
    if body.team and team is None:
        raise not_found_error("team")
    by = auth.token_owner(request)
    grant = roles.give_role(person, role=body.role, team=team, by=by, reason=body.reason)
    return Status(201, _grant_out(grant))


@router.delete(
    "/{int:person_id}/roles/{int:grant_id}",
    auth=auth.ADMINISTER,
    response={204: None},
    summary="Take a role away",
)
def take_role(request: HttpRequest, person_id: PersonId, grant_id: GrantId) -> Status[None]:
    """At once, and from their tokens too. Refused for oneself."""
    grants = Grant.objects.filter(pk=grant_id, person=person_id)
    grant = grants.select_related("person", "team").first()
    if grant is None:
        raise not_found_error("role")
    roles.take_role(grant, by=auth.token_owner(request))
    return Status(204, None)


@router.post(
    "/{int:person_id}/deactivate",
    auth=auth.ADMINISTER,
    response=PersonOut,
    summary="End somebody's access",
)
def deactivate_person(request: HttpRequest, person_id: PersonId, body: ReasonMayBeIn) -> PersonOut:
    """At once: sessions, password, links and tokens of theirs. Refused for oneself."""
    by = auth.token_owner(request)
    return _person_out(people.deactivate_person(_find_person(person_id), by=by, reason=body.reason))


def _find_person(person_id: int) -> User:
    person = User.objects.filter(pk=person_id).first()
    if person is None:
        raise not_found_error("person")
    return person


def _person_out(person: User) -> PersonOut:
    return PersonOut(
        id=person.pk,
        name=person.get_username(),
        email=person.email,
        is_active=person.is_active,
        is_administrator=person.is_superuser,
        last_signed_in_at=person.last_login,
        roles=[_grant_out(grant) for grant in person.grants.all()],
    )


def _grant_out(grant: Grant) -> GrantOut:
    name = grant.team.name if grant.team else None
    return GrantOut(id=grant.pk, role=str(grant.role), team=grant.team_id, team_name=name)
