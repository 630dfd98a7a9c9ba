"""Endpoints side by side: a table of metrics or capabilities, and up to six on one chart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from dashboard.charts.figures import compare as chart
from dashboard.compare import capabilities, queries
from dashboard.compare import export as compare_export
from dashboard.compare.export import Record
from dashboard.compare.filters import CompareFilter, CompareFilterForm, Span, Tab
from dashboard.compare.queries import ChartLine
from dashboard.core.permissions import Right, actor_of, needs
from dashboard.core.safe_csv import records_as_csv
from dashboard.core.time_range import TimeRange
from dashboard.models import Endpoint
from dashboard.models.people import Teams
from health.metric_names import metric_name
from health.rates import DIRECTIONS, Direction, metric_rate
from probes.outcomes import Metric


@needs(Right.READ)
@require_safe
def compare_page(request: HttpRequest) -> HttpResponse:
    compare_filter = CompareFilter(**CompareFilterForm(request.GET).read())
    now, teams = timezone.now(), _readable_teams(request)
    page = _endpoint_page(compare_filter, teams)
    page_slugs = {endpoint.slug for endpoint in page}
    context = {
        "compare_filter": compare_filter,
        "page": page,
        # Selected on another page of the table: hidden inputs keep them selected.
        "selected_elsewhere": [slug for slug in compare_filter.endpoint if slug not in page_slugs],
        **_filter_choices(compare_filter, teams),
        **_table_context(compare_filter, page, now),
        **_chart_context(compare_filter, now, teams),
    }
    return render(request, "compare/compare.html", context)


# Exports are read by programs and passed on: they are English in every language.
@needs(Right.READ)
@require_safe
@translation.override("en")
def export_comparison(request: HttpRequest) -> HttpResponse:
    compare_filter = CompareFilter(**CompareFilterForm(request.GET).read())
    now, teams = timezone.now(), _readable_teams(request)
    is_chart = request.GET.get("what") == "chart"
    records = (_chart_records if is_chart else _table_records)(compare_filter, now, teams)
    name = f"toolgauge-compare-{'chart' if is_chart else compare_filter.tab.value}"
    response: HttpResponse
    if request.GET.get("format") == "csv":
        response = HttpResponse(records_as_csv(records), content_type="text/csv")
        extension = "csv"
    else:
        response, extension = JsonResponse({"as_of": now, "rows": records}), "json"
    response["Content-Disposition"] = f'attachment; filename="{name}.{extension}"'
    return response


def _readable_teams(request: HttpRequest) -> Teams:
    return actor_of(request).teams(Right.READ)


def _endpoint_page(compare_filter: CompareFilter, teams: Teams) -> Page[Endpoint]:
    endpoints = queries.filter_endpoints(compare_filter, teams)
    return Paginator(endpoints, queries.PAGE_SIZE).get_page(compare_filter.page)


def _filter_choices(compare_filter: CompareFilter, teams: Teams) -> dict[str, Any]:
    models = queries.count_shared_models(teams)
    if compare_filter.model and compare_filter.model not in models:
        models = {compare_filter.model: 1, **models}
    return {
        "tabs": [(tab, compare_filter.address(tab=tab)) for tab in Tab],
        "spans": [(span, compare_filter.address(span=span)) for span in Span],
        "ranges": list(TimeRange),
        "metrics": [(metric, metric_name(metric)) for metric in Metric],
        "models": models,
    }


def _table_context(
    compare_filter: CompareFilter, page: Page[Endpoint], now: datetime
) -> dict[str, Any]:
    endpoints = list(page)
    if compare_filter.tab is Tab.CAPABILITIES:
        names = capabilities.FIELDS.values()
        columns: list[tuple[str, str]] = [(str(name), "") for name in names]
    else:
        hints = {Direction.HIGH: _("high is good"), Direction.LOW: _("low is good")}
        columns = [(metric_name(metric), hints[DIRECTIONS[metric]]) for metric in Metric]
    return {"columns": columns, "rows": list(_table_rows(compare_filter, endpoints, now))}


def _table_rows(
    compare_filter: CompareFilter, endpoints: Sequence[Endpoint], now: datetime
) -> list[tuple[Endpoint, Sequence[Any]]]:
    if compare_filter.tab is Tab.CAPABILITIES:
        profiles = queries.read_current_profiles(endpoints)
        return [
            (each, capabilities.capability_cells(profiles[each.pk].capabilities))
            for each in endpoints
        ]
    cells = queries.read_cells(endpoints, compare_filter.span, now)
    return [(each, cells[each.pk]) for each in endpoints]


def _chart_context(compare_filter: CompareFilter, now: datetime, teams: Teams) -> dict[str, Any]:
    selected = queries.select_endpoints(compare_filter, teams)
    drawn = selected[: queries.MAX_LINES]
    context: dict[str, Any] = {
        "drawn_slugs": [endpoint.slug for endpoint in drawn],
        "has_too_many": len(selected) > queries.MAX_LINES,
        "metric_name": metric_name(compare_filter.metric),
    }
    if len(drawn) < queries.MIN_LINES:
        return context
    lines = queries.read_chart_lines(drawn, compare_filter, now)
    return context | {
        "lines": [(line, _address_without(line, lines, compare_filter)) for line in lines],
        "step": lines[0].series.step,
        "chart_title": _chart_title(lines),
        "figure": _figure(lines),
    }


def _address_without(
    line: ChartLine, lines: Sequence[ChartLine], compare_filter: CompareFilter
) -> str:
    """The query string of the page without that line."""
    others = [each.endpoint.slug for each in lines if each is not line]
    return compare_filter.address(endpoint=others)


def _figure(lines: Sequence[ChartLine]) -> dict[str, Any] | None:
    if not any(line.series.points for line in lines):
        return None
    figure_lines = [
        chart.CompareLine(
            line.endpoint.slug,
            [
                chart.ComparePoint(p.at, p.epoch, metric_rate(line.metric, p.trials, p.failures))
                for p in line.series.points
            ],
        )
        for line in lines
    ]
    return chart.compare_figure(figure_lines, metric_name(lines[0].metric), lines[0].series.step)


def _chart_title(lines: Sequence[ChartLine]) -> str:
    """Names the endpoints with the best and with the worst rate."""
    rated = [(line, rate) for line in lines if (rate := line.total)]
    name = metric_name(lines[0].metric)
    if len(rated) < queries.MIN_LINES:
        return name
    ranked = sorted(rated, key=lambda each: each[1].failures / each[1].trials)
    best, worst = f"{ranked[0][1].value:.0%}", f"{ranked[-1][1].value:.0%}"
    if best == worst:
        return _("{name}: {rate} for each").format(name=name, rate=best)
    slugs = {
        percent: [line.endpoint.slug for line, rate in rated if f"{rate.value:.0%}" == percent]
        for percent in (best, worst)
    }
    return _("{name}: best {best} ({leaders}), worst {worst} ({laggards})").format(
        name=name,
        best=best,
        leaders=", ".join(slugs[best]),
        worst=worst,
        laggards=", ".join(slugs[worst]),
    )


def _table_records(compare_filter: CompareFilter, now: datetime, teams: Teams) -> list[Record]:
    rows = _table_rows(compare_filter, list(_endpoint_page(compare_filter, teams)), now)
    if compare_filter.tab is Tab.CAPABILITIES:
        return compare_export.capability_records(rows)
    return compare_export.metric_records(rows, compare_filter.span)


def _chart_records(compare_filter: CompareFilter, now: datetime, teams: Teams) -> list[Record]:
    drawn = queries.select_endpoints(compare_filter, teams)[: queries.MAX_LINES]
    if len(drawn) < queries.MIN_LINES:
        return []
    return compare_export.chart_records(queries.read_chart_lines(drawn, compare_filter, now))
