"""What a load balancer and a container's health check ask for."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.core.permissions import public
from dashboard.system import readiness


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
