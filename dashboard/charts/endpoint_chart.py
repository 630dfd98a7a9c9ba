"""All that the chart card of an endpoint shows, read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from dashboard.charts import chart_annotations, run_history
from dashboard.charts import chart_title as finding
from dashboard.charts import points as chart_points
from dashboard.charts import run_costs as taken
from dashboard.charts.figures import measure as measures
from dashboard.charts.figures import metric as metric_chart
from dashboard.charts.figures import run_costs as took_chart
from dashboard.charts.figures.chart_values import Row
from dashboard.charts.figures.measure import Measure, Price, Took, has_data
from dashboard.charts.filters import Asked
from dashboard.charts.points import Record
from dashboard.models import Endpoint
from health.metric_names import metric_name
from probes.outcomes import Metric


@dataclass(frozen=True, slots=True)
class Card:
    """A chart with its title and its points; without a figure there is nothing to draw."""

    name: str
    finding: str
    figure: dict[str, Any] | None
    records: list[Record]
    rates: Sequence[Row] = ()
    taken: Sequence[Took] = ()
    live_points: int = 0
    step: timedelta | None = None
    price: Price | None = None

    @property
    def points(self) -> int:
        """Runs, or spans of them."""
        return len(self.rates) - self.live_points if self.rates else len(self.taken)

    @property
    def newest(self) -> list[Row] | list[tuple[Took, Decimal | None]]:
        """The points for a table, the newest first; what runs took, with its cost."""
        if self.rates:
            return list(reversed(self.rates))
        return [(row, self.price.of(row) if self.price else None) for row in reversed(self.taken)]


def read(endpoint: Endpoint, asked: Asked) -> Card:
    """The card of whatever is asked for."""
    if isinstance(asked.subject, Measure):
        return _of_measure(endpoint, asked.subject, asked)
    return _of_metric(endpoint, asked.subject, asked)


def _of_metric(endpoint: Endpoint, metric: Metric, asked: Asked) -> Card:
    shown = run_history.shown(endpoint, metric, asked.window)
    rows = shown.rows
    if not rows:
        return Card(metric_name(metric), metric_name(metric), None, [])
    start, end = _span(rows[0].at, asked)
    happened = chart_annotations.read(endpoint, metric, start, end)
    return Card(
        name=metric_name(metric),
        finding=finding.of_metric(shown, chart_annotations.incidents(endpoint, start, end)),
        figure=metric_chart.figure(replace(shown, happened=happened)),
        records=chart_points.of_rates(endpoint, metric, rows),
        rates=rows,
        live_points=len(shown.live),
        step=shown.runs[0].step if shown.runs else None,
    )


def _of_measure(endpoint: Endpoint, measure: Measure, asked: Asked) -> Card:
    rows, price = taken.read(endpoint, asked.window), taken.price_of(endpoint)
    figure = None
    if has_data(measure, rows, price):
        start, end = _span(rows[0].at, asked)
        happened = chart_annotations.read(endpoint, None, start, end)
        bounds = (start, end) if asked.window.is_custom else None
        figure = took_chart.figure(measure, rows, price=price, happened=happened, bounds=bounds)
    return Card(
        name=measures.name_of(measure),
        finding=finding.of_measure(measure, rows, price),
        figure=figure,
        records=chart_points.of_taken(endpoint, measure, rows, price) if figure else [],
        taken=rows if figure else (),
        step=rows[0].step if rows else None,
        price=price,
    )


def _span(first: datetime, asked: Asked) -> tuple[datetime, datetime]:
    """From the first point that is shown: what ended before it has no place in the chart."""
    window = asked.window
    return (window.start if window.is_custom and window.start else first), window.end
