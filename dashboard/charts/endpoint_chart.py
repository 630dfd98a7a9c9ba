"""The chart of an endpoint with its title, points and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from dashboard.charts import chart_annotations, run_history
from dashboard.charts.chart_title import measure_title, metric_title
from dashboard.charts.figures.chart_values import ChartPoint
from dashboard.charts.figures.measure import Measure, RunCost, TokenPrice, has_data, measure_name
from dashboard.charts.figures.metric import metric_figure
from dashboard.charts.figures.run_costs import run_cost_figure
from dashboard.charts.filters import ChartFilter
from dashboard.charts.points import PointRecord, cost_records, rate_records
from dashboard.charts.run_costs import read_run_costs, token_price
from dashboard.models import Endpoint
from health.metric_names import metric_name
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class EndpointChart:
    """A chart with its title and points; `figure` is None without data."""

    name: str
    finding: str
    figure: dict[str, Any] | None
    records: list[PointRecord]
    rates: Sequence[ChartPoint] = ()
    taken: Sequence[RunCost] = ()
    live_points: int = 0
    step: timedelta | None = None
    price: TokenPrice | None = None

    @property
    def points(self) -> int:
        """The number of runs, or of steps that combine runs."""
        return len(self.rates) - self.live_points if self.rates else len(self.taken)

    @property
    def newest(self) -> list[ChartPoint] | list[tuple[RunCost, Decimal | None]]:
        """The points for a table, newest first; run costs with their price."""
        if self.rates:
            return list(reversed(self.rates))
        return [
            (row, self.price.cost_of(row) if self.price else None) for row in reversed(self.taken)
        ]


def read_chart(endpoint: Endpoint, chart_filter: ChartFilter) -> EndpointChart:
    if isinstance(chart_filter.subject, Measure):
        return _measure_chart(endpoint, chart_filter.subject, chart_filter)
    return _metric_chart(endpoint, chart_filter.subject, chart_filter)


def _metric_chart(endpoint: Endpoint, metric: Metric, chart_filter: ChartFilter) -> EndpointChart:
    history = run_history.read_metric_history(endpoint, metric, chart_filter.window)
    rows = history.rows
    if not rows:
        return EndpointChart(metric_name(metric), metric_name(metric), None, [])
    start, end = _annotated_span(rows[0].at, chart_filter)
    annotations = chart_annotations.read_annotations(endpoint, metric, start, end)
    return EndpointChart(
        name=metric_name(metric),
        finding=metric_title(history, chart_annotations.read_incidents(endpoint, start, end)),
        figure=metric_figure(replace(history, annotations=annotations)),
        records=rate_records(endpoint, metric, rows),
        rates=rows,
        live_points=len(history.live),
        step=history.runs[0].step if history.runs else None,
    )


def _measure_chart(
    endpoint: Endpoint, measure: Measure, chart_filter: ChartFilter
) -> EndpointChart:
    rows, price = read_run_costs(endpoint, chart_filter.window), token_price(endpoint)
    figure = None
    if has_data(measure, rows, price):
        start, end = _annotated_span(rows[0].at, chart_filter)
        annotations = chart_annotations.read_annotations(endpoint, None, start, end)
        bounds = (start, end) if chart_filter.window.is_custom else None
        figure = run_cost_figure(measure, rows, price=price, annotations=annotations, bounds=bounds)
    return EndpointChart(
        name=measure_name(measure),
        finding=measure_title(measure, rows, price),
        figure=figure,
        records=cost_records(endpoint, measure, rows, price) if figure else [],
        taken=rows if figure else (),
        step=rows[0].step if rows else None,
        price=price,
    )


def _annotated_span(first: datetime, chart_filter: ChartFilter) -> tuple[datetime, datetime]:
    """From the first point, since earlier annotations are outside the chart."""
    window = chart_filter.window
    return (window.start if window.is_custom and window.start else first), window.end
