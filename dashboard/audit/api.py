"""The audit log: what was done, by whom, from where and why."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, Detail
from dashboard.api.paging import MAX_ID
from dashboard.audit import queries
from dashboard.audit.queries import LinkedEntry
from dashboard.core import permissions

router = Router(tags=["audit"])

_ENTRY: dict[str, Any] = {
    "id": 512,
    "at": "2026-05-01T12:00:00.123456Z",
    "action": "rollout.approved",
    "subject": "request 8",
    "endpoint": "vllm-qwen3",
    "actor": {"name": "anna", "person": 4, "token": None},
    "origin": {"via": "page", "address": "192.0.2.7", "request": "0191f1c46d7c7c3e"},
    "reason": "The figures hold.",
    "before": {"stage": "read_only"},
    "after": {"stage": "write"},
    "place": 512,
    "digest": "5f0dbd5d" * 8,
}


class EntryOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_ENTRY]})

    id: int
    at: datetime
    action: str = Field(description="Such as rollout.approved")
    subject: str
    endpoint: str | None
    actor: dict[str, Any] = Field(description="Name, person and the prefix of the token, if any")
    origin: dict[str, Any] = Field(description="page, api, command or system, and the address")
    reason: str
    before: Any
    after: Any
    place: int | None = Field(description="In the chain, in the order of commits")
    digest: str = Field(description="The link of the chain, in hexadecimal")


class EntryList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"entries": [_ENTRY], "next_cursor": 512}]}
    )

    entries: list[EntryOut]
    next_cursor: int | None = Field(description=paging.NEXT)


class Asked(BaseModel):
    actor: str = Field(default="", description="Only what this person or token did")
    action: str = Field(default="", description="One, such as mode.on, or a group: `mode.`")
    endpoint: str = Field(default="", description="Only what concerns this endpoint")
    text: str = Field(default="", description="Only entries that have this text somewhere")
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    cursor: int = Field(default=0, ge=0, le=MAX_ID, description="The `next_cursor`")
    limit: int = Field(default=50, ge=1, le=200, description="The most on a page")

    def as_filter(self) -> queries.AuditFilter:
        """The filter that the page uses too. Refuses an unknown action."""
        if self.action and self.action not in {*queries.ACTIONS, *queries.GROUPS}:
            message = "There is no such action, nor a group of that name."
            detail = Detail(field="action", message=message)
            raise ApiError(422, f"action: {message}", details=[detail])
        query = self.model_dump(include={"actor", "action", "endpoint", "text"})
        query |= {"before": str(self.cursor) if self.cursor else ""}
        query |= {"since": self.since.isoformat() if self.since else ""}
        query |= {"until": self.until.isoformat() if self.until else ""}
        return queries.read_audit_filter(
            {name: value.replace("\0", "") for name, value in query.items()}
        )


@router.get("", auth=auth.READ, response=EntryList, summary="List what was done, newest first")
def list_audit(request: HttpRequest, query: Annotated[Asked, Query()]) -> EntryList:
    """Of the endpoints that you may see; administrators see all of it."""
    page = queries.read_audit_page(
        query.as_filter(), permissions.actor_of(request), size=query.limit
    )
    entries = [_entry_out(row) for row in page.rows]
    return EntryList(entries=entries, next_cursor=page.older.before if page.older else None)


def _entry_out(linked: LinkedEntry) -> EntryOut:
    entry, body = linked.entry, linked.entry.parsed_body
    same = ("subject", "endpoint", "actor", "origin", "reason", "before", "after")
    fields: dict[str, Any] = {name: body.get(name) for name in same}
    return EntryOut(
        id=entry.pk,
        at=entry.at,
        action=entry.action,
        place=linked.seq,
        digest=linked.digest,
        **fields,
    )
