"""Latency, tokens or cost over time, under the same lanes as the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.figures import change_marks, key_changes, lanes, theme
from dashboard.charts.figures.chart_values import Bounds
from dashboard.charts.figures.lanes import NO_ANNOTATIONS, ChartAnnotations
from dashboard.charts.figures.measure import Measure, RunCost, TokenPrice
from dashboard.charts.figures.metric import BOTTOM, LEGEND, fit_axis
from dashboard.core.durations import format_duration
from health.translation import say, say_many

CostValue = Callable[[RunCost], float | None]
# The lanes keep their height above the highest value.
_HEADROOM = (lanes.TOP - BOTTOM) / (1 - BOTTOM)
_DASHES, _SYMBOLS = ("solid", "dash", "dot"), ("circle", "diamond", "x")
_COLOURS = (theme.SERIES, theme.LIVE, lanes.INCIDENT)


def run_cost_figure(
    measure: Measure,
    rows: Sequence[RunCost],
    *,
    price: TokenPrice | None = None,
    annotations: ChartAnnotations = NO_ANNOTATIONS,
    bounds: Bounds | None = None,
) -> dict[str, Any]:
    """The Plotly figure as plain data; `rows` is not empty."""
    left, right = bounds or fit_axis([row.at for row in rows], annotations)
    changed, lines = key_changes.first_points(rows), _measure_lines(measure, price)
    drawn = [_line_trace(name, rows, value, place) for place, (name, value) in enumerate(lines)]
    chart = go.Figure(
        data=[
            *drawn,
            *(
                trace.update({"yaxis": "y2"})
                for trace in change_marks.mark_traces(annotations.marks, left, right)
            ),
            *(
                trace.update({"yaxis": "y2"})
                for trace in lanes.lane_traces(annotations, left, right)
            ),
        ],
        layout=theme.layout(
            template=None,
            margin={"l": 58, "r": 12, "t": 12, "b": 48},
            legend=LEGEND,
            showlegend=True,
            xaxis=theme.time_axis(left, right),
            yaxis=_value_axis(measure, rows, price),
            yaxis2={
                "overlaying": "y",
                "range": [BOTTOM, lanes.TOP],
                "visible": False,
                "fixedrange": True,
            },
            shapes=[
                *lanes.maintenance_bands(annotations.windows, right),
                *(key_changes.key_line(row) for row in changed),
            ],
            annotations=[
                *lanes.maintenance_labels(annotations.windows, left),
                *key_changes.key_labels(changed, [], right - left),
            ],
        ),
    )
    chart.layout.template = go.layout.Template()
    return dict(chart.to_plotly_json())


def _measure_lines(measure: Measure, price: TokenPrice | None) -> list[tuple[str, CostValue]]:
    if measure is Measure.LATENCY:
        return [
            (say("Half of the answers (p50)"), lambda row: _seconds(row.latency_p50_ms)),
            (say("95 % of the answers (p95)"), lambda row: _seconds(row.latency_p95_ms)),
        ]
    if measure is Measure.TOKENS:
        return [
            (say("Input"), lambda row: row.input_tokens),
            (say("Output"), lambda row: row.output_tokens),
            (say("Lost to attempts that did not pass"), lambda row: row.lost_tokens),
        ]
    return [(say("Cost"), lambda row: float(price.cost_of(row)) if price else None)]


def _value_axis(
    measure: Measure, rows: Sequence[RunCost], price: TokenPrice | None
) -> dict[str, Any]:
    values = [value(row) for _, value in _measure_lines(measure, price) for row in rows]
    highest = max((value for value in values if value is not None), default=0) or 1
    return theme.axis(
        _axis_title(measure, rows, price),
        range=[BOTTOM * highest, BOTTOM * highest + highest * (1 - BOTTOM) * _HEADROOM],
        rangemode="tozero",
        fixedrange=True,
    )


def _axis_title(measure: Measure, rows: Sequence[RunCost], price: TokenPrice | None) -> str:
    step = rows[0].step
    if measure is Measure.LATENCY:
        return say("Seconds")
    if measure is Measure.TOKENS:
        return (
            say("Tokens in {step}").format(step=format_duration(step))
            if step
            else say("Tokens a run")
        )
    currency = price.currency if price else ""
    if step:
        return say("{currency} in {step}").format(currency=currency, step=format_duration(step))
    return say("{currency} a run").format(currency=currency)


def _line_trace(name: str, rows: Sequence[RunCost], value: CostValue, place: int) -> go.Scatter:
    points = list(_with_gaps([row for row in rows if value(row) is not None]))
    return go.Scatter(
        name=name,
        legendrank=place + 1,
        mode="lines+markers",
        x=[row and theme.iso(row.at) for row in points],
        y=[row and value(row) for row in points],
        text=[row and _hover_text(name, row, value) for row in points],
        customdata=[row and row.run_id for row in points],
        hovertemplate="%{text}<extra></extra>",
        line={"color": _COLOURS[place], "width": 1.75, "dash": _DASHES[place]},
        marker={"symbol": _SYMBOLS[place], "color": _COLOURS[place], "size": 6},
        showlegend=bool(points),
    )


def _with_gaps(rows: Sequence[RunCost]) -> Iterable[RunCost | None]:
    """Rows with a None wherever the epoch changes, so that no line crosses a key change."""
    before: RunCost | None = None
    for row in rows:
        if before and before.epoch != row.epoch:
            yield None
        yield row
        before = row


def _hover_text(name: str, row: RunCost, value: CostValue) -> str:
    amount = value(row) or 0
    figure = f"{amount:,.0f}" if amount >= 100 else f"{amount:,.4g}"
    lines = [f"{name}: {figure}", theme.moment(row.at)]
    if row.step:
        many = say_many("{count} run in {step}", "{count} runs in {step}", row.runs)
        lines.append(many.format(count=row.runs, step=format_duration(row.step)))
    else:
        lines.append(say("run {number}").format(number=row.run_id))
    return "<br>".join(lines)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
