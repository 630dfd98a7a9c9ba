"""What the page that compares endpoints shows, as CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dashboard.compare.capabilities import Ability
from dashboard.compare.filters import Span
from dashboard.compare.queries import Cell, Line
from dashboard.models import Endpoint
from health.rates import Rate, metric_rate

Record = dict[str, object]


def of_cells(table: Iterable[tuple[Endpoint, Sequence[Cell]]], span: Span) -> list[Record]:
    """A record for each cell of the heat map; one without data has no rate."""
    return [
        {**_who(endpoint), "metric": cell.metric.value, "span": span.value, **_figures(cell.rate)}
        | {"level": cell.level.value}
        for endpoint, cells in table
        for cell in cells
    ]


def of_abilities(table: Iterable[tuple[Endpoint, Sequence[Ability]]]) -> list[Record]:
    """A record for each cell of the capabilities."""
    return [
        {
            **_who(endpoint),
            "capability": ability.field,
            "value": ability.words,
            "trials": ability.trials,
            "agree": ability.agree,
            "low": ability.low,
            "high": ability.high,
        }
        for endpoint, abilities in table
        for ability in abilities
    ]


def of_lines(lines: Iterable[Line]) -> list[Record]:
    """A record for each point of the chart."""
    return [
        {
            **_who(line.endpoint),
            "metric": line.metric.value,
            "at": point.at.isoformat(),
            "step_seconds": int(line.series.step.total_seconds()),
            "profile": point.epoch,
            **_figures(metric_rate(line.metric, point.trials, point.failures)),
        }
        for line in lines
        for point in line.series.points
    ]


def _who(endpoint: Endpoint) -> Record:
    return {"endpoint": endpoint.slug, "provider": endpoint.provider, "model": endpoint.model}


def _figures(rate: Rate | None) -> Record:
    if rate is None:
        return {"trials": 0, "failures": 0, "rate": None, "low": None, "high": None}
    return {
        "trials": rate.trials,
        "failures": rate.failures,
        "rate": rate.value,
        "low": rate.low,
        "high": rate.high,
    }
