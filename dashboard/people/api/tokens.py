"""API tokens: which there are, and taking one back. They are made on a page, never by a token."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import Path, Router
from ninja.responses import Status
from pydantic import BaseModel, ConfigDict, Field

from dashboard.api import auth, paging
from dashboard.api.errors import not_found_error
from dashboard.api.paging import MAX_ID, Below, Limit
from dashboard.core import permissions
from dashboard.core.permissions import Right
from dashboard.models import ApiToken
from dashboard.models.people import ApiTokenQuerySet
from dashboard.people.services import tokens

router = Router(tags=["tokens"])
Prefix = Annotated[
    str, Path(pattern="^[a-z0-9]{8}$", description="What stands between `tg_` and the next `_`")
]

_TOKEN: dict[str, Any] = {
    "prefix": "k3v9q0ab",
    "name": "nightly deploys",
    "scopes": ["read", "operate"],
    "person": "anna",
    "team": 2,
    "created_at": "2026-04-01T08:00:00Z",
    "last_used_at": "2026-05-01T12:00:00Z",
    "expires_at": "2026-07-01T08:00:00Z",
    "revoked_at": None,
}


class TokenOut(BaseModel):
    prefix: str
    name: str
    scopes: list[str]
    person: str | None = Field(description="Whose rights it has at most; null: a command's")
    team: int | None = Field(description="null: it is good for every endpoint")
    created_at: datetime
    last_used_at: datetime | None = Field(description="To the minute")
    expires_at: datetime | None
    revoked_at: datetime | None


class TokenList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tokens": [_TOKEN], "next_cursor": None}]}
    )

    tokens: list[TokenOut]
    next_cursor: int | None = Field(description=paging.NEXT)


@router.get("", auth=auth.READ, response=TokenList, summary="List API tokens")
def list_tokens(request: HttpRequest, cursor: Below = MAX_ID, limit: Limit = 100) -> TokenList:
    """One's own; administrators see everybody's. The newest first, without what opens anything."""
    rows = (
        _visible_tokens(request).filter(pk__lt=cursor).select_related("created_by").newest_first()
    )
    page, next_cursor = paging.cut_page(rows, limit, lambda row: row.pk)
    return TokenList(tokens=[_token_out(row) for row in page], next_cursor=next_cursor)


@router.delete(
    "/{str:prefix}", auth=auth.REVOKE, response={204: None}, summary="Revoke an API token"
)
def revoke_token(request: HttpRequest, prefix: Prefix) -> Status[None]:
    """For good, and at once: one's own, the calling one too; administrators anybody's."""
    token = _visible_tokens(request).filter(prefix=prefix, revoked_at=None).first()
    if token is None or not tokens.revoke_token(token):
        raise not_found_error("API token that opens anything")
    return Status(204, None)


def _visible_tokens(request: HttpRequest) -> ApiTokenQuerySet:
    if Right.ADMINISTER in permissions.actor_of(request).everywhere:
        return ApiToken.objects.all()
    caller = request.auth  # type: ignore[attr-defined]
    if isinstance(caller, User):
        return ApiToken.objects.filter(created_by=caller)
    own = ApiToken.objects.filter(created_by=caller.created_by)
    # A token of one team sees only the tokens of that team.
    return own.filter(team=caller.team_id) if caller.team_id else own


def _token_out(token: ApiToken) -> TokenOut:
    return TokenOut(
        prefix=token.prefix,
        name=token.name,
        scopes=token.scopes,
        person=token.created_by.get_username() if token.created_by else None,
        team=token.team_id,
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        expires_at=token.expires_at,
        revoked_at=token.revoked_at,
    )
