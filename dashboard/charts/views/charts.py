"""The chart of an endpoint as a part of its page, and its points as table, CSV and JSON."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.charts import endpoint_chart, filters, small_multiples
from dashboard.charts.figures import measure as measures
from dashboard.charts.figures.measure import Measure
from dashboard.charts.filters import ChartFilter
from dashboard.charts.views import notes
from dashboard.core.permissions import Right, needs
from dashboard.core.safe_csv import records_as_csv
from dashboard.core.time_range import TimeRange
from dashboard.models import Endpoint
from health.metric_names import NAMES, metric_name

# The newest points below the chart; a separate page lists all.
TABLE_ROWS = 50


@needs(Right.READ)
@require_safe
def chart_part(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return render(
        request, "charts/_chart_part.html", _part_context(endpoint, _read_filter(request.GET))
    )


@needs(Right.READ)
@require_safe
def chart_points(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint, chart_filter = (
        get_object_or_404(Endpoint.objects.kept(), slug=slug),
        _read_filter(request.GET),
    )
    context = {
        "endpoint": endpoint,
        "chart_filter": chart_filter,
        "card": endpoint_chart.read_chart(endpoint, chart_filter),
    }
    return render(request, "charts/chart_points.html", context)


@needs(Right.READ)
@require_safe
def export_chart(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint, chart_filter = (
        get_object_or_404(Endpoint.objects.kept(), slug=slug),
        _read_filter(request.GET),
    )
    records = endpoint_chart.read_chart(endpoint, chart_filter).records
    name = f"{endpoint.slug}-{chart_filter.subject.value}"
    if request.GET.get("format") == "json":
        answer: HttpResponse = JsonResponse({"points": records})
        return _as_file(answer, f"{name}.json")
    return _as_file(HttpResponse(records_as_csv(records), content_type="text/csv"), f"{name}.csv")


def charts_context(endpoint: Endpoint, query: QueryDict) -> dict[str, Any]:
    """The template context of the charts and of the notes."""
    return {**_part_context(endpoint, _read_filter(query)), **notes.notes_context(endpoint)}


def _part_context(endpoint: Endpoint, chart_filter: ChartFilter) -> dict[str, Any]:
    card = endpoint_chart.read_chart(endpoint, chart_filter)
    return {
        "endpoint": endpoint,
        "chart_filter": chart_filter,
        "window": chart_filter.window,
        "metric": chart_filter.subject,
        "subjects": [(each, metric_name(each), chart_filter.of(each)) for each in NAMES],
        "measures": [
            (each, measures.measure_name(each), chart_filter.of(each)) for each in Measure
        ],
        "ranges": [(each, chart_filter.in_range(each)) for each in TimeRange],
        "all_time": chart_filter.in_range(TimeRange.ALL),
        "card": card,
        "figure": card.figure,
        "points": card.points,
        "live_points": card.live_points,
        "table_rows": TABLE_ROWS,
        "multiples": [
            (small, chart_filter.of(small.metric))
            for small in small_multiples.read_small_charts(endpoint, chart_filter.window)
        ],
    }


def _read_filter(query: QueryDict) -> ChartFilter:
    parameters = {name: str(value) for name, value in query.items()}
    return filters.read_filter(parameters, timezone.now())


def _as_file(answer: HttpResponse, name: str) -> HttpResponse:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
