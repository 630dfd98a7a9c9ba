"""The settings page of maintenance windows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.core.errors import Refused
from dashboard.core.permissions import Actor, Right, actor_of, needs
from dashboard.models import Endpoint, MaintenanceWindow
from dashboard.notifications.forms import MaintenanceForm
from dashboard.notifications.services import maintenance

MAX_PAST = 30
DEFAULT_SPAN = timedelta(hours=2)


@needs(Right.READ, change=Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def maintenance_page(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    form = MaintenanceForm(request.POST or None, actor=actor, initial=_form_initial(request))
    if request.method == "POST" and form.is_valid():
        try:
            maintenance.plan_window(by=cast(User, request.user), **form.cleaned_data)
        except Refused as exc:
            form.add_error(None, exc.message)
        else:
            messages.success(request, _("Planned. Probing goes on; only notices are held back."))
            return redirect("maintenance")
    return render(
        request, "notifications/maintenance.html", {"form": form, **_visible_windows(actor)}
    )


@needs(Right.OPERATE)
@require_POST
def cancel_window(request: HttpRequest, window_id: int) -> HttpResponse:
    window = get_object_or_404(MaintenanceWindow, pk=window_id)
    if maintenance.cancel_window(window, by=cast(User, request.user)):
        messages.success(request, _("It is cancelled. Notices are sent again."))
    else:
        messages.info(request, _("It was over already."))
    return redirect("maintenance")


def _visible_windows(actor: Actor) -> dict[str, Any]:
    """The windows of endpoints that the actor may read, and those for all endpoints."""
    readable = Endpoint.objects.kept().of_teams(actor.teams(Right.READ))
    windows = MaintenanceWindow.objects.filter(
        Q(endpoint=None) | Q(endpoint__in=readable)
    ).select_related("endpoint", "created_by", "cancelled_by")
    is_over = Q(ends_at__lte=Now()) | Q(cancelled_at__isnull=False)
    return {
        "planned": windows.exclude(is_over).order_by("starts_at", "id"),
        "past": windows.filter(is_over).order_by("-ends_at", "-id")[:MAX_PAST],
        "under_way": set(windows.under_way().values_list("pk", flat=True)),
    }


def _form_initial(request: HttpRequest) -> dict[str, Any]:
    endpoints = Endpoint.objects.kept().filter(slug=request.GET.get("endpoint", ""))
    now = timezone.now().replace(second=0, microsecond=0)
    return {"endpoint": endpoints.first(), "starts_at": now, "ends_at": now + DEFAULT_SPAN}
