"""The audit log: the list with its filters, one entry, and all of it as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.audit import chain, entries
from dashboard.audit import export as audit_export
from dashboard.audit import queries as audit_page
from dashboard.audit import text as audit_words
from dashboard.core import http
from dashboard.core.permissions import Actor, Right, actor_of, needs
from dashboard.models import Endpoint

_FORMATS = {
    "csv": (audit_export.csv_pieces, "text/csv; charset=utf-8"),
    "jsonl": (audit_export.jsonl_pieces, "application/jsonl; charset=utf-8"),
}


@needs(Right.READ)
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    asked, actor = audit_page.wanted(request.GET.dict()), actor_of(request)
    found = audit_page.read(asked, actor)
    sees_all = Right.ADMINISTER in actor.everywhere
    context = {
        "asked": asked,
        "page": found,
        "rows": entries.shown(found.rows, actor),
        "groups": _choices(),
        "slugs": _slugs(asked, actor),
        "sees_all": sees_all,
        "head": chain.head() if sees_all else None,
        "here": asked.address(),
        "newer": found.newer.address(after=found.newer.after) if found.newer else "",
        "older": found.older.address(before=found.older.before) if found.older else "",
    }
    return render(request, "audit/audit_log.html", context)


@needs(Right.READ)
@require_safe
def detail(request: HttpRequest, entry_id: int) -> HttpResponse:
    actor = actor_of(request)
    found = audit_page.seen_by(actor).filter(pk=min(entry_id, 2**63 - 1)).first()
    if found is None:
        raise Http404
    row = entries.shown(audit_page.linked([found]), actor)[0]
    return render(request, "audit/entry.html", {"row": row})


@needs(Right.READ)
@require_safe
def export(request: HttpRequest) -> StreamingHttpResponse:
    asked, actor = audit_page.wanted(request.GET.dict()), actor_of(request)
    ending = "csv" if request.GET.get("format") == "csv" else "jsonl"
    pieces, kind = _FORMATS[ending]
    return StreamingHttpResponse(
        _async(pieces(audit_page.batches(asked, actor))),
        headers=http.download_headers(f"toolgauge-audit.{ending}", kind),
    )


def _choices() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What can be chosen: groups of actions, and the actions of those that have several."""
    return [
        (group, audit_words.group(group), [(each, audit_words.action(each)) for each in actions])
        for group, actions in audit_page.GROUPS.items()
    ]


def _slugs(asked: audit_page.Wanted, actor: Actor) -> list[str]:
    kept = Endpoint.objects.kept().of_teams(actor.teams(Right.READ)).order_by("slug")
    slugs = list(kept.values_list("slug", flat=True)[:500])
    # One that is gone, or that was called otherwise, can still be asked for.
    return slugs if not asked.endpoint or asked.endpoint in slugs else [asked.endpoint, *slugs]


async def _async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    # A server of this kind would collect all pieces of a plain iterator before it sends the first.
    def following() -> bytes | None:
        return next(pieces, None)

    while (piece := await sync_to_async(following)()) is not None:
        yield piece
