from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.core.permissions import Right, actor_of, needs
from dashboard.system import queries as monitoring
from dashboard.system import system_page


@needs(Right.READ)
@require_safe
def system_status_page(request: HttpRequest) -> HttpResponse:
    state = monitoring.read_system_state(actor_of(request).teams(Right.READ))
    context = {"system": system_page.build_system_page(state)}
    whole = not request.headers.get("HX-Request")
    return render(request, f"system/{'system' if whole else '_system'}.html", context)
