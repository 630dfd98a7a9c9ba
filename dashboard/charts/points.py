"""The points of a chart as records: for its table, and as CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from dashboard.charts.figures.chart_values import ChartPoint
from dashboard.charts.figures.measure import Measure, RunCost, TokenPrice
from dashboard.models import Endpoint
from probes.outcomes import Metric

PointRecord = dict[str, object]


def rate_records(
    endpoint: Endpoint, metric: Metric, rows: Sequence[ChartPoint]
) -> list[PointRecord]:
    """One record per point, in order of time; without a verdict there is no rate."""
    return [
        {
            **_common_fields(endpoint, metric.value, row.at, row.step),
            "lane": "live" if row.live else "probe",
            "profile": row.epoch,
            "run": row.run_id,
            "suite": None if row.step else row.suite,
            "numerator": row.rate.count if row.rate else None,
            "denominator": row.rate.trials if row.rate else None,
            "rate": row.rate.value if row.rate else None,
            "low": row.rate.low if row.rate else None,
            "high": row.rate.high if row.rate else None,
            "simulated": row.simulated,
        }
        for row in rows
    ]


def cost_records(
    endpoint: Endpoint, measure: Measure, rows: Sequence[RunCost], price: TokenPrice | None
) -> list[PointRecord]:
    """One record per run or step, with its cost if there is a price."""
    return [
        {
            **_common_fields(endpoint, measure.value, row.at, row.step),
            "profile": row.epoch,
            "run": row.run_id,
            "runs": row.runs,
            "latency_p50_ms": row.latency_p50_ms,
            "latency_p95_ms": row.latency_p95_ms,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "lost_tokens": row.lost_tokens,
            "lost_ms": row.lost_ms,
            "cost": float(price.cost_of(row)) if price else None,
            "currency": price.currency if price else None,
        }
        for row in rows
    ]


def _common_fields(
    endpoint: Endpoint, subject: str, at: datetime, step: timedelta | None
) -> PointRecord:
    return {
        "endpoint": endpoint.slug,
        "metric": subject,
        "at": at.astimezone(UTC).isoformat(),
        "step_seconds": int(step.total_seconds()) if step else None,
    }
