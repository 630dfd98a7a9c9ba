from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from dashboard.charts.figures.change_marks import Mark, MarkKind
from dashboard.charts.figures.lanes import ChartAnnotations
from dashboard.charts.figures.measure import Measure, RunCost, TokenPrice, has_data
from dashboard.charts.figures.run_costs import run_cost_figure

START = datetime(2026, 11, 3, 12, tzinfo=UTC)
PRICE = TokenPrice(Decimal("0.5"), Decimal(2), "EUR")


def test_latency_is_two_lines_in_seconds() -> None:
    """Median and 95th percentile; a run without a response is no point."""
    chart = run_cost_figure(
        Measure.LATENCY, [_run_cost(0), _run_cost(1, latency_p50_ms=None, latency_p95_ms=None)]
    )

    assert _trace(chart, "Half of the answers (p50)")["y"] == [0.25]
    assert _trace(chart, "95 % of the answers (p95)")["y"] == [1.5]
    assert chart["layout"]["yaxis"]["title"]["text"] == "Seconds"


def test_tokens_include_the_lost_ones() -> None:
    """Input, output, and the tokens of attempts that did not pass, if recorded."""
    chart = run_cost_figure(Measure.TOKENS, [_run_cost(0), _run_cost(1, lost_tokens=None)])

    assert _trace(chart, "Input")["y"] == [1000, 1000]
    assert _trace(chart, "Output")["y"] == [200, 200]
    assert _trace(chart, "Lost to attempts that did not pass")["y"] == [60]


def test_cost_is_tokens_times_price_in_its_currency() -> None:
    """A point links to its run."""
    chart = run_cost_figure(Measure.COST, [_run_cost(0)], price=PRICE)

    line = _trace(chart, "Cost")
    assert line["y"] == [pytest.approx(0.0009)]
    assert line["customdata"] == [0]
    assert line["text"] == ["Cost: 0.0009<br><time>2026-11-03T12:00:00Z</time><br>run 0"]
    assert chart["layout"]["yaxis"]["title"]["text"] == "EUR a run"


def test_marks_are_above_the_values_at_any_scale() -> None:
    """They have their own axis, and the highest value is below them."""
    annotations = ChartAnnotations(marks=[Mark(START, MarkKind.NOTE, "deployed")])

    chart = run_cost_figure(Measure.TOKENS, [_run_cost(0)], annotations=annotations)

    note = _trace(chart, "Note")
    assert (note["yaxis"], note["y"]) == ("y2", [1.08])
    assert chart["layout"]["yaxis"]["range"][1] > 1000 * 1.08
    assert "#" not in json.dumps(chart)


def test_without_a_price_or_a_response_there_is_no_data() -> None:
    """Missing data is not drawn as zero."""
    without_response = [_run_cost(0, latency_p50_ms=None)]

    assert not has_data(Measure.COST, [_run_cost(0)], None)
    assert not has_data(Measure.LATENCY, without_response, None)
    assert has_data(Measure.TOKENS, without_response, None)
    assert not has_data(Measure.TOKENS, [], None)


def _run_cost(i: int, **over: Any) -> RunCost:
    values: dict[str, Any] = {"latency_p50_ms": 250, "latency_p95_ms": 1500}
    values |= {"input_tokens": 1000, "output_tokens": 200, "lost_tokens": 60, "run_id": i}
    return RunCost(START + timedelta(hours=i), 1, START, **{**values, **over})


def _trace(chart: dict[str, Any], name: str) -> dict[str, Any]:
    return next(trace for trace in chart["data"] if trace["name"] == name)
