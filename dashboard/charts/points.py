"""The points of a chart as records: for its table, and as CSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from dashboard.charts.figures.chart_values import Row
from dashboard.charts.figures.measure import Measure, Price, Took
from dashboard.models import Endpoint
from probes.outcomes import Metric

Record = dict[str, object]


def of_rates(endpoint: Endpoint, metric: Metric, rows: Sequence[Row]) -> list[Record]:
    """A record a point, in order of time; without a verdict there is no rate."""
    return [
        {
            **_who(endpoint, metric.value, row.at, row.step),
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


def of_taken(
    endpoint: Endpoint, measure: Measure, rows: Sequence[Took], price: Price | None
) -> list[Record]:
    """What runs took, with all that is known of each; the cost where there is a price."""
    return [
        {
            **_who(endpoint, measure.value, row.at, row.step),
            "profile": row.epoch,
            "run": row.run_id,
            "runs": row.runs,
            "latency_p50_ms": row.latency_p50_ms,
            "latency_p95_ms": row.latency_p95_ms,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "lost_tokens": row.lost_tokens,
            "lost_ms": row.lost_ms,
            "cost": float(price.of(row)) if price else None,
            "currency": price.currency if price else None,
        }
        for row in rows
    ]


def _who(endpoint: Endpoint, subject: str, at: datetime, step: timedelta | None) -> Record:
    return {
        "endpoint": endpoint.slug,
        "metric": subject,
        "at": at.astimezone(UTC).isoformat(),
        "step_seconds": int(step.total_seconds()) if step else None,
    }
