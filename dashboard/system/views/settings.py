"""The overview of all settings, and the page of what is kept."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.core.navigation import visible_groups
from dashboard.core.permissions import actor_of, own
from dashboard.system import retention_page, table_sizes


@own
@require_safe
def settings_page(request: HttpRequest) -> HttpResponse:
    groups = visible_groups(actor_of(request))
    return render(request, "system/settings.html", {"groups": groups})


@own
@require_safe
def retention_view(request: HttpRequest) -> HttpResponse:
    return render(
        request,
        "system/retention.html",
        {"kept": retention_page.build_retention_page(table_sizes.read_table_sizes())},
    )
