"""The table and the chart of the compare page as records for CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dashboard.compare.capabilities import CapabilityCell
from dashboard.compare.filters import Span
from dashboard.compare.queries import ChartLine, MetricCell
from dashboard.models import Endpoint
from health.rates import Rate, metric_rate

Record = dict[str, object]


def metric_records(
    table: Iterable[tuple[Endpoint, Sequence[MetricCell]]], span: Span
) -> list[Record]:
    """A record per cell of the heat map. Without data the rate is null."""
    return [
        {
            **_endpoint_fields(endpoint),
            "metric": cell.metric.value,
            "span": span.value,
            **_rate_fields(cell.rate),
        }
        | {"level": cell.level.value}
        for endpoint, cells in table
        for cell in cells
    ]


def capability_records(
    table: Iterable[tuple[Endpoint, Sequence[CapabilityCell]]],
) -> list[Record]:
    return [
        {
            **_endpoint_fields(endpoint),
            "capability": cell.field,
            "value": cell.label,
            "trials": cell.trials,
            "agree": cell.agree,
            "low": cell.low,
            "high": cell.high,
        }
        for endpoint, cells in table
        for cell in cells
    ]


def chart_records(lines: Iterable[ChartLine]) -> list[Record]:
    """A record per point of the chart."""
    return [
        {
            **_endpoint_fields(line.endpoint),
            "metric": line.metric.value,
            "at": point.at.isoformat(),
            "step_seconds": int(line.series.step.total_seconds()),
            "profile": point.epoch,
            **_rate_fields(metric_rate(line.metric, point.trials, point.failures)),
        }
        for line in lines
        for point in line.series.points
    ]


def _endpoint_fields(endpoint: Endpoint) -> Record:
    return {"endpoint": endpoint.slug, "provider": endpoint.provider, "model": endpoint.model}


def _rate_fields(rate: Rate | None) -> Record:
    if rate is None:
        return {"trials": 0, "failures": 0, "rate": None, "low": None, "high": None}
    return {
        "trials": rate.trials,
        "failures": rate.failures,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
    }
