from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from dashboard.core.permissions import Right, actor_of, needs
from dashboard.fleet import updates
from dashboard.fleet.fleet_page import (
    FleetHeader,
    FleetPage,
    filter_chips,
    filter_choices,
    read_fleet_page,
)
from dashboard.fleet.fleet_table import table_columns
from dashboard.rollouts.approvals import Viewer


@needs(Right.READ)
@require_safe
def fleet_page(request: HttpRequest) -> HttpResponse:
    page = _read_page(request)
    if request.headers.get("HX-Target") == "fleet":
        answer = render(request, "fleet/_fleet.html", _list_context(page))
        # Without the empty fields of the form.
        answer["HX-Push-Url"] = request.path + page.fleet_filter.address(
            page=page.fleet_filter.page
        )
    else:
        header = FleetHeader(page.fleet, page.viewer)
        context = _list_context(page) | filter_choices(page.fleet) | {"header": header}
        answer = render(request, "fleet/fleet.html", context)
    patch_vary_headers(answer, ["HX-Target"])
    return answer


@needs(Right.READ)
@require_safe
def fleet_updates(request: HttpRequest) -> HttpResponse:
    page = _read_page(request)
    update = updates.changes_since(_parse_seen(request.GET.getlist("seen")), page)
    if update is None:
        return HttpResponse(status=204)
    return render(request, "fleet/_fleet_updates.html", {"page": page, "update": update})


def _read_page(request: HttpRequest) -> FleetPage:
    viewer = Viewer(cast(User, request.user), actor_of(request))
    return read_fleet_page(request.GET.dict(), timezone.now(), viewer)


def _list_context(page: FleetPage) -> dict[str, Any]:
    listing, fleet_filter = page.listing, page.fleet_filter
    return {
        "page": page,
        "fleet_filter": fleet_filter,
        "listing": listing,
        "sections": page.sections(),
        "columns": table_columns(fleet_filter),
        "chips": filter_chips(fleet_filter),
        "here": fleet_filter.address(page=listing.number),
        "before": fleet_filter.address(page=listing.number - 1) if listing.number > 1 else "",
        "after": fleet_filter.address(page=listing.number + 1)
        if listing.number < listing.pages
        else "",
    }


def _parse_seen(values: Iterable[str]) -> dict[str, str]:
    """The digest of each part by its name, in page order."""
    pairs = [value[:60].partition(".") for value in list(values)[: updates.MAX_SEEN]]
    return {name: digest for name, _, digest in pairs}
