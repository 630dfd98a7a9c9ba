from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard import happenings, history
from dashboard.charts import parse_success as chart
from dashboard.charts.parse_success import Mark, Row
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
        "figure": _figure(endpoint, rows, history.chart_marks(endpoint, span, now)),
        "points": len(rows),
        "step": rows[0].step if rows else None,
    }


def _figure(endpoint: Endpoint, rows: list[Row], marks: list[Mark]) -> dict[str, Any] | None:
    if not rows:
        return None
    # From the first run that is shown: what ended before it has no place in the chart.
    happened = happenings.read(endpoint, rows[0].at, timezone.now())
    return chart.figure(rows, marks, happened)
