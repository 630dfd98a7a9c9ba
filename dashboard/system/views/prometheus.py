"""/metrics, for Prometheus."""

from __future__ import annotations

import hmac

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.core.permissions import public
from dashboard.system import prometheus


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
    same = hmac.compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())
    return scheme.lower() == "bearer" and same


def _plain_response(text: str, status: int) -> HttpResponse:
    response = HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
    if status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="metrics"'
    return response
