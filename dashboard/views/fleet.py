from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard import fleet


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "dashboard/fleet.html", _context(request, fleet.read(timezone.now())))


@require_safe
def rows(request: HttpRequest) -> HttpResponse:
    found = fleet.read(timezone.now())
    if request.GET.get("seen") == found.digest:
        return HttpResponse(status=204)
    return render(request, "dashboard/_fleet.html", _context(request, found))


def _context(request: HttpRequest, found: fleet.Fleet) -> dict[str, Any]:
    pages = Paginator(found.summaries, fleet.PAGE)
    shown = pages.get_page(request.GET.get("page"))
    return {"fleet": found, "page": shown, "rows": fleet.listed(list(shown))}
