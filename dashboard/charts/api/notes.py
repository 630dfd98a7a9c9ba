"""Notes about an endpoint, written by people and deployments."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.db.models import Q
from django.http import HttpRequest
from ninja import Path, Query, Router
from ninja.responses import Status
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from dashboard.api import auth, paging
from dashboard.api.errors import ApiError, Detail, not_found_error
from dashboard.api.lookups import Slug, find_endpoint
from dashboard.api.paging import MAX_ID, Below
from dashboard.charts import services as service
from dashboard.models import Note

router = Router(tags=["notes"])

_NOTE: dict[str, Any] = {
    "id": 12,
    "at": "2026-05-01T09:30:00Z",
    "text": "vLLM 0.11.2 is live",
    "link": "https://ci.example/deploys/4711",
    "author": "alice",
    "created_at": "2026-05-01T09:30:02Z",
}


_NO_PAGE = Detail(field="cursor", message="Give a `next_cursor` of this list.")


class NoteIn(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{name: _NOTE[name] for name in ("at", "text", "link")}]},
    )

    text: str = Field(description=f"What happened, in at most {service.MAX_TEXT_LENGTH} characters")
    at: AwareDatetime | None = Field(default=None, description="When; null is now")
    link: str = Field(default="", description="Where to read more: http:// or https://")


class NoteOut(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [_NOTE]})

    id: int
    at: datetime
    text: str
    link: str
    author: str | None
    created_at: datetime


class NoteList(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"notes": [_NOTE], "next_cursor": None}]}
    )

    notes: list[NoteOut]
    next_cursor: int | None = Field(description=paging.NEXT)


@router.get(
    "/{slug:slug}/notes", auth=auth.READ, response=NoteList, summary="List notes, newest first"
)
def list_notes(
    request: HttpRequest,
    slug: Slug,
    cursor: Below = MAX_ID,
    limit: Annotated[int, Query(ge=1, le=500, description="The most on a page")] = 100,
) -> NoteList:
    all_notes = (
        Note.objects.filter(endpoint=find_endpoint(slug)).select_related("author").newest_first()
    )
    notes = all_notes.kept()
    # Ordered by time, which authors can set: the note at the cursor has the time to continue at.
    last = all_notes.filter(pk=cursor).first()
    if last is not None:
        notes = notes.filter(Q(at__lt=last.at) | Q(at=last.at, pk__lt=last.pk))
    elif cursor != MAX_ID:
        raise ApiError(422, "cursor: There is no such page.", details=[_NO_PAGE])
    page, next_cursor = paging.cut_page(notes, limit, lambda note: note.pk)
    return NoteList(notes=[note_out(note) for note in page], next_cursor=next_cursor)


@router.post(
    "/{slug:slug}/notes", auth=auth.OPERATE, response={201: NoteOut}, summary="Write a note"
)
def add_note(request: HttpRequest, slug: Slug, body: NoteIn) -> Status[NoteOut]:
    """It is a mark in every chart of the endpoint: put one there with each deployment."""
    by = auth.request_token(request).created_by
    note = service.add_note(find_endpoint(slug), at=body.at, text=body.text, link=body.link, by=by)
    note.refresh_from_db()
    return Status(201, note_out(note))


@router.delete(
    "/{slug:slug}/notes/{int:note_id}",
    auth=auth.OPERATE,
    response={204: None},
    summary="Remove a note",
)
def remove_note(
    request: HttpRequest,
    slug: Slug,
    note_id: Annotated[int, Path(ge=1, le=MAX_ID, description="The `id` in the list")],
) -> Status[None]:
    """Only by who wrote it, or by an administrator."""
    note = Note.objects.kept().filter(endpoint=find_endpoint(slug), pk=note_id).first()
    if note is None or not service.remove_note(note, by=auth.request_token(request).created_by):
        raise not_found_error("note")
    return Status(204, None)


def note_out(note: Note) -> NoteOut:
    same_name = ("at", "text", "link", "created_at")
    return NoteOut(
        id=note.pk,
        author=note.author.get_username() if note.author else None,
        **{name: getattr(note, name) for name in same_name},
    )
