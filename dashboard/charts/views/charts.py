"""The charts of an endpoint: the part that is swapped, its points as a table, CSV and JSON."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.charts import endpoint_chart, filters, small_multiples
from dashboard.charts.figures import measure as measures
from dashboard.charts.figures.measure import Measure
from dashboard.charts.filters import Asked
from dashboard.charts.views import notes
from dashboard.core.permissions import Right, needs
from dashboard.core.safe_csv import records_as_csv
from dashboard.core.time_range import TimeRange
from dashboard.models import Endpoint
from health.metric_names import NAMES, metric_name

# Of the newest points below the chart; all of them have a page of their own.
TABLE_ROWS = 50


@needs(Right.READ)
@require_safe
def part(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint = get_object_or_404(Endpoint.objects.kept(), slug=slug)
    return render(request, "charts/_chart_part.html", _part_context(endpoint, _asked(request.GET)))


@needs(Right.READ)
@require_safe
def points(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint, asked = get_object_or_404(Endpoint.objects.kept(), slug=slug), _asked(request.GET)
    context = {"endpoint": endpoint, "asked": asked, "card": endpoint_chart.read(endpoint, asked)}
    return render(request, "charts/chart_points.html", context)


@needs(Right.READ)
@require_safe
def export(request: HttpRequest, slug: str) -> HttpResponse:
    endpoint, asked = get_object_or_404(Endpoint.objects.kept(), slug=slug), _asked(request.GET)
    records = endpoint_chart.read(endpoint, asked).records
    name = f"{endpoint.slug}-{asked.subject.value}"
    if request.GET.get("format") == "json":
        answer: HttpResponse = JsonResponse({"points": records})
        return _as_file(answer, f"{name}.json")
    return _as_file(HttpResponse(records_as_csv(records), content_type="text/csv"), f"{name}.csv")


def context(endpoint: Endpoint, query: QueryDict) -> dict[str, Any]:
    """What the charts of the page need: the part, and the notes beside it."""
    return {**_part_context(endpoint, _asked(query)), **notes.context(endpoint)}


def _part_context(endpoint: Endpoint, asked: Asked) -> dict[str, Any]:
    card = endpoint_chart.read(endpoint, asked)
    return {
        "endpoint": endpoint,
        "asked": asked,
        "window": asked.window,
        "metric": asked.subject,
        "subjects": [(each, metric_name(each), asked.of(each)) for each in NAMES],
        "measures": [(each, measures.name_of(each), asked.of(each)) for each in Measure],
        "ranges": [(each, asked.in_range(each)) for each in TimeRange],
        "all_time": asked.in_range(TimeRange.ALL),
        "card": card,
        "figure": card.figure,
        "points": card.points,
        "live_points": card.live_points,
        "table_rows": TABLE_ROWS,
        "multiples": [
            (small, asked.of(small.metric))
            for small in small_multiples.read(endpoint, asked.window)
        ],
    }


def _asked(query: QueryDict) -> Asked:
    given = {name: str(value) for name, value in query.items()}
    return filters.read(given, timezone.now())


def _as_file(answer: HttpResponse, name: str) -> HttpResponse:
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
