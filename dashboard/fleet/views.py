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
from dashboard.fleet import columns, fleet_page, updates
from dashboard.fleet.fleet_page import Look, Top
from dashboard.rollouts.approvals import Viewer


@needs(Right.READ)
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    look = _look(request)
    if request.headers.get("HX-Target") == "fleet":
        answer = render(request, "fleet/_fleet.html", _list(look))
        # Without what was left empty in the form.
        answer["HX-Push-Url"] = request.path + look.asked.address(page=look.asked.page)
    else:
        top = Top(look.fleet, look.viewer)
        context = _list(look) | fleet_page.choices(look.fleet) | {"top": top}
        answer = render(request, "fleet/fleet.html", context)
    patch_vary_headers(answer, ["HX-Target"])
    return answer


@needs(Right.READ)
@require_safe
def rows(request: HttpRequest) -> HttpResponse:
    look = _look(request)
    news = updates.since(_seen(request.GET.getlist("seen")), look)
    if news is None:
        return HttpResponse(status=204)
    return render(request, "fleet/_fleet_updates.html", {"look": look, "news": news})


def _look(request: HttpRequest) -> Look:
    viewer = Viewer(cast(User, request.user), actor_of(request))
    return fleet_page.look(request.GET.dict(), timezone.now(), viewer)


def _list(look: Look) -> dict[str, Any]:
    listing, asked = look.listing, look.asked
    return {
        "look": look,
        "asked": asked,
        "listing": listing,
        "sections": look.sections(),
        "columns": columns.columns(asked),
        "chips": fleet_page.chips(asked),
        "here": asked.address(page=listing.number),
        "before": asked.address(page=listing.number - 1) if listing.number > 1 else "",
        "after": asked.address(page=listing.number + 1) if listing.number < listing.pages else "",
    }


def _seen(values: Iterable[str]) -> dict[str, str]:
    """By what is named, in the order of the page, what it looked like there."""
    pairs = [value[:60].partition(".") for value in list(values)[: updates.MOST_SEEN]]
    return {name: digest for name, _, digest in pairs}
