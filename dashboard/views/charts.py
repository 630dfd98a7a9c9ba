from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard import history
from dashboard.charts import parse_success as chart
from dashboard.models import Endpoint


@require_safe
def parse_success(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return render(request, "dashboard/_chart.html", context(endpoint, request.GET.get("range", "")))


def context(endpoint: Endpoint, range_name: str) -> dict[str, Any]:
    """What the chart part needs, on its own and inside its page."""
    span = history.range_named(range_name)
    now = timezone.now()
    rows = history.chart_rows(endpoint, span, now)
    return {
        "endpoint": endpoint,
        "range": span,
        "ranges": list(history.Range),
        "figure": chart.figure(rows, history.chart_marks(endpoint, span, now)) if rows else None,
        "points": len(rows),
        "step": rows[0].step if rows else None,
    }
