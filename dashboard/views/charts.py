from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard import happenings, history, multiples
from dashboard.charts import metric as chart
from dashboard.charts.rows import Shown
from dashboard.models import Endpoint
from health.words import NAMES


@require_safe
def part(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return render(request, "dashboard/_chart.html", context(endpoint, request.GET))


def context(endpoint: Endpoint, asked: QueryDict) -> dict[str, Any]:
    """What the chart part needs, on its own and inside its page."""
    span = history.range_named(asked.get("range", ""))
    metric = history.metric_named(asked.get("metric", ""))
    shown = history.shown(endpoint, metric, span, timezone.now())
    return {
        "endpoint": endpoint,
        "metric": metric,
        "metric_name": NAMES[metric],
        "metrics": list(NAMES.items()),
        "range": span,
        "ranges": list(history.Range),
        "figure": _figure(endpoint, shown),
        "points": len(shown.runs),
        "live_points": len(shown.live),
        "step": shown.runs[0].step if shown.runs else None,
        "multiples": multiples.read(endpoint),
    }


def _figure(endpoint: Endpoint, shown: Shown) -> dict[str, Any] | None:
    if not shown.rows:
        return None
    # From the first point that is shown: what ended before it has no place in the chart.
    happened = happenings.read(endpoint, shown.metric, shown.rows[0].at, timezone.now())
    return chart.figure(replace(shown, happened=happened))
