"""The settings overview, the retention and system pages, health checks and /metrics."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.api import auth
from dashboard.api.errors import CHALLENGE, ApiError
from dashboard.core.navigation import visible_groups
from dashboard.core.permissions import Right, actor_of, needs, own, public
from dashboard.models.people import Teams
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
    try:
        teams = _metrics_teams(request)
        body, content_type = prometheus.render_metrics(request.headers.get("Accept", ""), teams)
    except ApiError as exc:
        return _plain_response(exc.message, exc.status, exc.headers)
    except Error:
        return _plain_response("The database does not answer.", 503)
    return HttpResponse(body, content_type=content_type)


def _metrics_teams(request: HttpRequest) -> Teams:
    """The teams whose endpoints the caller may read; None is all. Refuses strangers.

    Beside the METRICS_TOKEN, which names everything, those who may read endpoints by the API.
    """
    if settings.METRICS_OPEN or _has_metrics_token(request):
        return None
    if not any(authenticate(request) for authenticate in auth.READ):
        message = "Send an API token with the scope 'read', or the METRICS_TOKEN, as a Bearer token"
        raise ApiError(401, f"{message}.", headers={"WWW-Authenticate": CHALLENGE})
    return auth.readable_teams(request)


def _has_metrics_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # Bytes, since text that is not ASCII cannot be compared in constant time.
    is_same = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    return bool(settings.METRICS_TOKEN) and scheme.lower() == "bearer" and is_same


def _plain_response(
    text: str, status: int, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    return HttpResponse(
        f"{text}\n", status=status, headers=headers, content_type="text/plain; charset=utf-8"
    )
