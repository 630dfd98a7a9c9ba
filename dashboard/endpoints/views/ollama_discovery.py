from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.core.permissions import Right, needs
from dashboard.endpoints.ollama_discovery import discover_models


@needs(Right.OPERATE)
@require_safe
@never_cache
def ollama_models_part(request: HttpRequest) -> HttpResponse:
    return render(request, "endpoints/_ollama_discovery.html", {"models": discover_models()})
