"""The settings overview, the retention and system pages, health checks and /metrics."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.core.navigation import visible_groups
from dashboard.core.permissions import Right, actor_of, needs, own, public
from dashboard.system import prometheus, readiness, retention_page, system_page, table_sizes
from dashboard.system import queries as monitoring


@needs(Right.READ)
@require_safe
def system_status_page(request: HttpRequest) -> HttpResponse:
    state = monitoring.read_system_state(actor_of(request).teams(Right.READ))
    context = {"system": system_page.build_system_page(state)}
    is_page = not request.headers.get("HX-Request")
    return render(request, f"system/{'system' if is_page else '_system'}.html", context)


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
        {"retention": retention_page.build_retention_page(table_sizes.read_table_sizes())},
    )


@public
@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@public
@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    problems = readiness.readiness_problems()
    return JsonResponse({"problems": problems}, status=503 if problems else 200)


@public
@never_cache
@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if not _may_read_metrics(request):
        return _plain_response("Send the METRICS_TOKEN as a Bearer token.", 401)
    try:
        body, content_type = prometheus.render_metrics(request.headers.get("Accept", ""))
    except Error:
        return _plain_response("The database does not answer.", 503)
    return HttpResponse(body, content_type=content_type)


def _may_read_metrics(request: HttpRequest) -> bool:
    if not settings.METRICS_TOKEN:
        return True
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # Bytes, since text that is not ASCII cannot be compared in constant time.
    is_same = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    return scheme.lower() == "bearer" and is_same


def _plain_response(text: str, status: int) -> HttpResponse:
    response = HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
    return response
