"""The audit log: the list with its filters, one entry, and all of it as a file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.audit import chain, entries, queries
from dashboard.audit import export as audit_export
from dashboard.audit import text as audit_text
from dashboard.core import http
from dashboard.core.permissions import Actor, Right, actor_of, needs
from dashboard.models import Endpoint

_FORMATS = {
    "csv": (audit_export.render_csv_chunks, "text/csv; charset=utf-8"),
    "jsonl": (audit_export.render_jsonl_chunks, "application/jsonl; charset=utf-8"),
}


@needs(Right.READ)
@require_safe
def audit_page(request: HttpRequest) -> HttpResponse:
    audit_filter, actor = queries.read_audit_filter(request.GET), actor_of(request)
    page = queries.read_audit_page(audit_filter, actor)
    sees_all = Right.ADMINISTER in actor.everywhere
    context = {
        "audit_filter": audit_filter,
        "page": page,
        "rows": entries.build_entry_rows(page.rows, actor),
        "groups": _action_choices(),
        "slugs": _endpoint_slugs(audit_filter, actor),
        "sees_all": sees_all,
        "head": chain.read_head() if sees_all else None,
        "newer": page.newer.address(after=page.newer.after) if page.newer else "",
        "older": page.older.address(before=page.older.before) if page.older else "",
    }
    return render(request, "audit/audit_log.html", context)


@needs(Right.READ)
@require_safe
def entry_page(request: HttpRequest, entry_id: int) -> HttpResponse:
    actor = actor_of(request)
    entry = queries.visible_entries(actor).filter(pk=min(entry_id, 2**63 - 1)).first()
    if entry is None:
        raise Http404
    row = entries.build_entry_rows(queries.link_entries([entry]), actor)[0]
    return render(request, "audit/entry.html", {"row": row})


@needs(Right.READ)
@require_safe
def export_audit(request: HttpRequest) -> StreamingHttpResponse:
    audit_filter, actor = queries.read_audit_filter(request.GET), actor_of(request)
    extension = "csv" if request.GET.get("format") == "csv" else "jsonl"
    render_chunks, content_type = _FORMATS[extension]
    return StreamingHttpResponse(
        _iterate_async(render_chunks(queries.read_entry_batches(audit_filter, actor))),
        headers=http.download_headers(f"toolgauge-audit.{extension}", content_type),
    )


def _action_choices() -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The choices of the filter: each group with its label and its actions."""
    return [
        (
            group,
            audit_text.group_label(group),
            [(action, audit_text.action_label(action)) for action in actions],
        )
        for group, actions in queries.GROUPS.items()
    ]


def _endpoint_slugs(audit_filter: queries.AuditFilter, actor: Actor) -> list[str]:
    endpoints = Endpoint.objects.kept().of_teams(actor.teams(Right.READ)).order_by("slug")
    slugs = list(endpoints.values_list("slug", flat=True)[:500])
    # A removed or renamed endpoint can still be the filter.
    return (
        slugs
        if not audit_filter.endpoint or audit_filter.endpoint in slugs
        else [audit_filter.endpoint, *slugs]
    )


async def _iterate_async(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    # An ASGI server would collect all chunks of a sync iterator before it sends the first.
    def next_chunk() -> bytes | None:
        return next(chunks, None)

    while (chunk := await sync_to_async(next_chunk)()) is not None:
        yield chunk
