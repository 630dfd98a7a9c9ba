"""What runs took over time: seconds, tokens or money, under the same lanes as the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.figures import change_marks, key_changes, lanes, theme
from dashboard.charts.figures.chart_values import Bounds
from dashboard.charts.figures.lanes import NOTHING, Happened
from dashboard.charts.figures.measure import Measure, Price, Took
from dashboard.charts.figures.metric import BOTTOM, LEGEND, fitting
from dashboard.core.durations import format_duration
from health.translation import say, say_many

Value = Callable[[Took], float | None]
# The lanes keep their height above the highest value.
_ROOM = (lanes.TOP - BOTTOM) / (1 - BOTTOM)
_DASHES, _SYMBOLS = ("solid", "dash", "dot"), ("circle", "diamond", "x")
_COLOURS = (theme.SERIES, theme.LIVE, lanes.INCIDENT)


def figure(
    measure: Measure,
    rows: Sequence[Took],
    *,
    price: Price | None = None,
    happened: Happened = NOTHING,
    bounds: Bounds | None = None,
) -> dict[str, Any]:
    """The Plotly figure, as plain data; there is a row."""
    left, right = bounds or fitting([row.at for row in rows], happened)
    changed, lines = key_changes.firsts(rows), _lines(measure, price)
    drawn = [_line(name, rows, value, place) for place, (name, value) in enumerate(lines)]
    chart = go.Figure(
        data=[
            *drawn,
            *(
                trace.update(yaxis="y2")
                for trace in change_marks.traces(happened.marks, left, right)
            ),
            *(trace.update(yaxis="y2") for trace in lanes.traces(happened, left, right)),
        ],
        layout=theme.layout(
            template=None,
            margin={"l": 58, "r": 12, "t": 12, "b": 48},
            legend=LEGEND,
            showlegend=True,
            xaxis=theme.time_axis(left, right),
            yaxis=_axis(measure, rows, price),
            yaxis2={
                "overlaying": "y",
                "range": [BOTTOM, lanes.TOP],
                "visible": False,
                "fixedrange": True,
            },
            shapes=[
                *lanes.bands(happened.windows, right),
                *(key_changes.line(row) for row in changed),
            ],
            annotations=[
                *lanes.band_words(happened.windows, left),
                *key_changes.words(changed, [], right - left),
            ],
        ),
    )
    chart.layout.template = go.layout.Template()
    return dict(chart.to_plotly_json())


def _lines(measure: Measure, price: Price | None) -> list[tuple[str, Value]]:
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
    return [(say("Cost"), lambda row: float(price.of(row)) if price else None)]


def _axis(measure: Measure, rows: Sequence[Took], price: Price | None) -> dict[str, Any]:
    values = [value(row) for _, value in _lines(measure, price) for row in rows]
    highest = max((value for value in values if value is not None), default=0) or 1
    return theme.axis(
        _unit(measure, rows, price),
        range=[BOTTOM * highest, BOTTOM * highest + highest * (1 - BOTTOM) * _ROOM],
        rangemode="tozero",
        fixedrange=True,
    )


def _unit(measure: Measure, rows: Sequence[Took], price: Price | None) -> str:
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


def _line(name: str, rows: Sequence[Took], value: Value, place: int) -> go.Scatter:
    points = list(_with_gaps([row for row in rows if value(row) is not None]))
    return go.Scatter(
        name=name,
        legendrank=place + 1,
        mode="lines+markers",
        x=[row and theme.iso(row.at) for row in points],
        y=[row and value(row) for row in points],
        text=[row and _hover(name, row, value) for row in points],
        customdata=[row and row.run_id for row in points],
        hovertemplate="%{text}<extra></extra>",
        line={"color": _COLOURS[place], "width": 1.75, "dash": _DASHES[place]},
        marker={"symbol": _SYMBOLS[place], "color": _COLOURS[place], "size": 6},
        showlegend=bool(points),
    )


def _with_gaps(rows: Sequence[Took]) -> Iterable[Took | None]:
    """Rows with a None wherever the epoch changes, so that no line runs across a seam."""
    before: Took | None = None
    for row in rows:
        if before and before.epoch != row.epoch:
            yield None
        yield row
        before = row


def _hover(name: str, row: Took, value: Value) -> str:
    found = value(row) or 0
    figure = f"{found:,.0f}" if found >= 100 else f"{found:,.4g}"
    lines = [f"{name}: {figure}", theme.moment(row.at)]
    if row.step:
        many = say_many("{count} run in {step}", "{count} runs in {step}", row.runs)
        lines.append(many.format(count=row.runs, step=format_duration(row.step)))
    else:
        lines.append(say("run {number}").format(number=row.run_id))
    return "<br>".join(lines)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
