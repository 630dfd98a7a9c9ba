"""Starts and removes the simulated fleet and hides its banner."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.core.errors import Refused
from dashboard.core.permissions import Right, actor_of, needs, own
from dashboard.demo.demo_fleet import build_fleet
from dashboard.demo.queries import filter_simulated, has_simulated_vendors
from dashboard.demo.services import fleet as demo
from dashboard.models import Endpoint

BANNER_HIDDEN = "demo_banner_hidden"


@needs(Right.READ)
@require_safe
def demo_page(request: HttpRequest) -> HttpResponse:
    all_simulated = filter_simulated(Endpoint.objects.kept())
    simulated = list(all_simulated.of_teams(actor_of(request).teams(Right.READ)).order_by("slug"))
    members = build_fleet(settings.SIMULATOR_URL)
    present = set(all_simulated.values_list("slug", flat=True))
    missing = [member for member in members if member.slug not in present]
    context = {"simulated": simulated, "missing": missing, "can_start": has_simulated_vendors()}
    return render(request, "demo/demo.html", context)


@needs(Right.ADMINISTER)
@require_POST
def start_demo(request: HttpRequest) -> HttpResponse:
    if not has_simulated_vendors():
        messages.error(request, _("No simulated vendors run here: start with SIMULATOR_URL set."))
        return redirect("demo")
    try:
        count = len(demo.register_fleet(settings.SIMULATOR_URL))
    except Refused as exc:
        messages.error(request, exc.message)
        return redirect("demo")
    request.session.pop(BANNER_HIDDEN, None)
    messages.success(request, _started_message(count))
    return redirect("fleet")


@needs(Right.ADMINISTER)
@require_http_methods(["GET", "HEAD", "POST"])
def remove_demo(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        count = len(demo.remove_fleet())
        messages.success(request, _removed_message(count))
        return redirect("fleet")
    simulated = list(filter_simulated(Endpoint.objects.kept()).order_by("slug"))
    if not simulated:
        return redirect("demo")
    return render(request, "demo/demo_remove.html", {"simulated": simulated})


@own
@require_POST
def hide_banner(request: HttpRequest) -> HttpResponse:
    request.session[BANNER_HIDDEN] = True
    return HttpResponse() if request.headers.get("HX-Request") else redirect("fleet")


def _started_message(count: int) -> str:
    if not count:
        return _("The simulated fleet is here already.")
    return ngettext(
        "{count} simulated endpoint is registered. Its first run starts now.",
        "{count} simulated endpoints are registered. Their first runs start now.",
        count,
    ).format(count=count)


def _removed_message(count: int) -> str:
    if not count:
        return _("No simulated endpoint was left to remove.")
    return ngettext(
        "{count} simulated endpoint was removed.",
        "{count} simulated endpoints were removed.",
        count,
    ).format(count=count)
