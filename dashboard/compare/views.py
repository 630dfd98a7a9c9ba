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
from dashboard.compare import capabilities
from dashboard.compare import export as compare_export
from dashboard.compare import queries as compare
from dashboard.compare.export import Record
from dashboard.compare.filters import CompareFilter, CompareFilterForm, Span, Tab
from dashboard.compare.queries import Line
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
def page(request: HttpRequest) -> HttpResponse:
    asked = CompareFilter(**CompareFilterForm(request.GET).read())
    now, teams = timezone.now(), _teams(request)
    shown = _page(asked, teams)
    context = {
        "asked": asked,
        "page": shown,
        **_choices(asked, teams),
        **_table(asked, shown, now),
        **_chart(asked, now, teams),
    }
    here = {endpoint.slug for endpoint in shown}
    # Ticked on another page of the table: the form carries them along.
    context["elsewhere"] = [slug for slug in asked.endpoint if slug not in here]
    return render(request, "compare/compare.html", context)


# A file is for programs and for whoever it is passed on to: English, whoever asks for it.
@needs(Right.READ)
@require_safe
@translation.override("en")
def export(request: HttpRequest) -> HttpResponse:
    asked = CompareFilter(**CompareFilterForm(request.GET).read())
    now, teams = timezone.now(), _teams(request)
    of_chart = request.GET.get("what") == "chart"
    records = (_chart_records if of_chart else _table_records)(asked, now, teams)
    name = f"toolgauge-compare-{'chart' if of_chart else asked.tab.value}"
    answer: HttpResponse
    if request.GET.get("format") == "csv":
        answer = HttpResponse(records_as_csv(records), content_type="text/csv")
        ending = "csv"
    else:
        answer, ending = JsonResponse({"as_of": now, "rows": records}), "json"
    answer["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return answer


def _teams(request: HttpRequest) -> Teams:
    return actor_of(request).teams(Right.READ)


def _page(asked: CompareFilter, teams: Teams) -> Page[Endpoint]:
    return Paginator(compare.listed(asked, teams), compare.PAGE).get_page(asked.page)


def _choices(asked: CompareFilter, teams: Teams) -> dict[str, Any]:
    """What can be asked for."""
    models = compare.shared_models(teams)
    if asked.model and asked.model not in models:
        models = {asked.model: 1, **models}
    return {
        "tabs": [(tab, asked.address(tab=tab)) for tab in Tab],
        "spans": [(span, asked.address(span=span)) for span in Span],
        "ranges": list(TimeRange),
        "metrics": [(metric, metric_name(metric)) for metric in Metric],
        "models": models,
    }


def _table(asked: CompareFilter, shown: Page[Endpoint], now: datetime) -> dict[str, Any]:
    endpoints = list(shown)
    if asked.tab is Tab.CAPABILITIES:
        named = capabilities.FIELDS.values()
        columns: list[tuple[str, str]] = [(str(name), "") for name in named]
    else:
        good = {Direction.HIGH: _("high is good"), Direction.LOW: _("low is good")}
        columns = [(metric_name(metric), good[DIRECTIONS[metric]]) for metric in Metric]
    return {"columns": columns, "rows": list(_rows(asked, endpoints, now))}


def _rows(
    asked: CompareFilter, endpoints: Sequence[Endpoint], now: datetime
) -> list[tuple[Endpoint, Sequence[Any]]]:
    if asked.tab is Tab.CAPABILITIES:
        profiles = compare.present_profiles(endpoints)
        return [
            (each, capabilities.abilities(profiles[each.pk].capabilities)) for each in endpoints
        ]
    cells = compare.cells(endpoints, asked.span, now)
    return [(each, cells[each.pk]) for each in endpoints]


def _chart(asked: CompareFilter, now: datetime, teams: Teams) -> dict[str, Any]:
    found = compare.chosen(asked, teams)
    drawn = found[: compare.MOST_LINES]
    context: dict[str, Any] = {
        "chosen": [endpoint.slug for endpoint in drawn],
        "more_chosen": len(found) > compare.MOST_LINES,
        "metric_name": metric_name(asked.metric),
    }
    if len(drawn) < compare.FEWEST_LINES:
        return context
    lines = compare.lines(drawn, asked, now)
    return context | {
        "lines": [(line, _without(asked, line, lines)) for line in lines],
        "step": lines[0].series.step,
        "finding": _finding(lines),
        "figure": _figure(lines),
    }


def _without(asked: CompareFilter, line: Line, lines: Sequence[Line]) -> str:
    """The address of the page without that line."""
    others = [each.endpoint.slug for each in lines if each is not line]
    return asked.address(endpoint=others)


def _figure(lines: Sequence[Line]) -> dict[str, Any] | None:
    if not any(line.series.points for line in lines):
        return None
    drawn = [
        chart.CompareLine(
            line.endpoint.slug,
            [
                chart.ComparePoint(p.at, p.epoch, metric_rate(line.metric, p.trials, p.failures))
                for p in line.series.points
            ],
        )
        for line in lines
    ]
    return chart.compare_figure(drawn, metric_name(lines[0].metric), lines[0].series.step)


def _finding(lines: Sequence[Line]) -> str:
    """Who did best and who worst, as the title of the chart."""
    rated = [(line, rate) for line in lines if (rate := line.together)]
    name = metric_name(lines[0].metric)
    if len(rated) < compare.FEWEST_LINES:
        return name
    ranked = sorted(rated, key=lambda each: each[1].failures / each[1].trials)
    best, worst = f"{ranked[0][1].value:.0%}", f"{ranked[-1][1].value:.0%}"
    if best == worst:
        return _("{name}: {rate} for each").format(name=name, rate=best)
    who = {
        shown: [line.endpoint.slug for line, rate in rated if f"{rate.value:.0%}" == shown]
        for shown in (best, worst)
    }
    return _("{name}: best {best} ({leaders}), worst {worst} ({laggards})").format(
        name=name,
        best=best,
        leaders=", ".join(who[best]),
        worst=worst,
        laggards=", ".join(who[worst]),
    )


def _table_records(asked: CompareFilter, now: datetime, teams: Teams) -> list[Record]:
    rows = _rows(asked, list(_page(asked, teams)), now)
    if asked.tab is Tab.CAPABILITIES:
        return compare_export.of_abilities(rows)
    return compare_export.of_cells(rows, asked.span)


def _chart_records(asked: CompareFilter, now: datetime, teams: Teams) -> list[Record]:
    drawn = compare.chosen(asked, teams)[: compare.MOST_LINES]
    if len(drawn) < compare.FEWEST_LINES:
        return []
    return compare_export.of_lines(compare.lines(drawn, asked, now))
