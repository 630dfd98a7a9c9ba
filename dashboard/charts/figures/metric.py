"""A metric over time: runs or steps, intervals, live traffic, key changes, annotations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.figures import baselines, change_marks, key_changes, lanes, theme
from dashboard.charts.figures.chart_values import ChartPoint, MetricHistory, suite_label
from dashboard.charts.figures.lanes import ChartAnnotations
from dashboard.core.durations import format_duration
from health.rates import DIRECTIONS, Direction
from health.translation import say

# Below the axis, so that a run without a verdict does not read as 0 %.
BOTTOM, _NO_VERDICT_Y = -0.09, -0.05
# More would hide the runs.
_MAX_DIAMONDS = 50
# Below the axis: beside the title it would cover it on a narrow screen.
LEGEND = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "font": {"size": 11}}


def metric_figure(history: MetricHistory) -> dict[str, Any]:
    """The Plotly figure as plain data, without a title: the page has it."""
    annotations, rows, changed = (
        history.annotations,
        history.rows,
        key_changes.first_points(history.rows),
    )
    left, right = history.bounds or fit_axis([row.at for row in rows], annotations)
    chart = go.Figure(
        data=[
            _interval_trace(history.runs),
            *baselines.reference_traces(annotations.references),
            _run_trace(history.runs),
            _live_trace(history.live),
            _no_verdict_trace(history.runs),
            *change_marks.mark_traces(annotations.marks, left, right),
            *lanes.lane_traces(annotations, left, right),
        ],
        layout=theme.layout(
            template=None,
            margin={"l": 58, "r": 12, "t": 12, "b": 48},
            legend=LEGEND,
            xaxis=theme.time_axis(left, right),
            yaxis=_rate_axis(history),
            shapes=[
                *lanes.maintenance_bands(annotations.windows, right),
                *(key_changes.key_line(row) for row in changed),
            ],
            annotations=[
                *lanes.maintenance_labels(annotations.windows, left),
                *key_changes.key_labels(changed, rows, right - left),
            ],
        ),
    )
    chart.layout.template = go.layout.Template()
    return dict(chart.to_plotly_json())


def fit_axis(times: Sequence[datetime], annotations: ChartAnnotations) -> tuple[datetime, datetime]:
    """From the first point to the last event, with a margin; long labels would widen it."""
    first, last = times[0], max(times[-1], annotations.latest or times[-1])
    air = max((last - first) * 0.03, timedelta(seconds=20))
    return first - air, last + air


def _rate_axis(history: MetricHistory) -> dict[str, Any]:
    is_high = DIRECTIONS[history.metric] is Direction.HIGH
    return theme.axis(
        say("Rate (%), high is good") if is_high else say("Rate (%), low is good"),
        range=[BOTTOM, lanes.TOP],
        tickvals=[0, 0.25, 0.5, 0.75, 1],
        tickformat=".0%",
        fixedrange=True,
    )


def _run_trace(rows: Sequence[ChartPoint]) -> go.Scatter:
    judged = list(_with_gaps([row for row in rows if row.rate]))
    return go.Scatter(
        name=say("Runs together") if rows and rows[0].step else say("Run"),
        legendrank=1,
        mode="lines+markers",
        x=[row and theme.iso(row.at) for row in judged],
        y=[row and row.rate and row.rate.value for row in judged],
        text=[row and _hover_text(row) for row in judged],
        customdata=[row and row.run_id for row in judged],
        hovertemplate="%{text}<extra></extra>",
        line={"color": theme.SERIES, "width": 1.75},
        marker={"color": theme.SERIES, "size": 7, "line": {"color": theme.SURFACE, "width": 1}},
        error_y=_lone_intervals(judged),
        showlegend=bool(judged),
    )


def _live_trace(rows: Sequence[ChartPoint]) -> go.Scatter:
    points = list(_with_gaps(rows))
    return go.Scatter(
        name=say("Live traffic"),
        legendrank=2,
        mode="lines+markers" if len(points) <= _MAX_DIAMONDS else "lines",
        x=[row and theme.iso(row.at) for row in points],
        y=[row and row.rate and row.rate.value for row in points],
        text=[row and _hover_text(row) for row in points],
        hovertemplate="%{text}<extra></extra>",
        line={"color": theme.LIVE, "width": 1.5, "dash": "dash"},
        marker={"symbol": "diamond", "color": theme.LIVE, "size": 6},
        showlegend=bool(points),
    )


def _interval_trace(rows: Sequence[ChartPoint]) -> go.Scatter:
    xs: list[str | None] = []
    ys: list[float | None] = []
    for _, group in groupby((row for row in rows if row.rate), key=lambda row: row.epoch):
        stretch = list(group)
        times = [theme.iso(row.at) for row in stretch]
        xs += [*times, *reversed(times), None]
        ys += [row.rate.high if row.rate else None for row in stretch]
        ys += [*(row.rate.low if row.rate else None for row in reversed(stretch)), None]
    return go.Scatter(
        name=say("95 % interval"),
        x=xs,
        y=ys,
        fill="toself",
        fillcolor=theme.BAND,
        mode="lines",
        line={"width": 0, "color": theme.BAND},
        hoverinfo="skip",
        showlegend=bool(xs),
    )


def _no_verdict_trace(rows: Sequence[ChartPoint]) -> go.Scatter:
    void = [row for row in rows if row.rate is None]
    return go.Scatter(
        name=say("No verdict"),
        mode="markers",
        x=[theme.iso(row.at) for row in void],
        y=[_NO_VERDICT_Y for _ in void],
        text=[_hover_text(row) for row in void],
        customdata=[row.run_id for row in void],
        hovertemplate="%{text}<extra></extra>",
        marker={
            "symbol": "circle-open",
            "color": theme.MUTED,
            "size": 8,
            "line": {"color": theme.MUTED, "width": 1.5},
        },
        showlegend=bool(void),
        cliponaxis=False,
    )


def _with_gaps(rows: Sequence[ChartPoint]) -> Iterable[ChartPoint | None]:
    """Rows with a None wherever the epoch changes, so that no line crosses a key change."""
    for before, row in zip([None, *rows[:-1]], rows, strict=True) if rows else ():
        if before and before.epoch != row.epoch:
            yield None
        yield row


def _lone_intervals(rows: Sequence[ChartPoint | None]) -> dict[str, Any]:
    """Error bars for a single run of an epoch, where the band has no width."""
    sizes = {epoch: len(list(group)) for epoch, group in groupby(row.epoch for row in rows if row)}
    lone = [row.rate if row and sizes[row.epoch] == 1 else None for row in rows]
    up = [rate and (rate.high or 0) - (rate.value or 0) for rate in lone]
    down = [rate and (rate.value or 0) - (rate.low or 0) for rate in lone]
    style = {"color": theme.SERIES, "thickness": 1, "width": 4}
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **style}


def _hover_text(row: ChartPoint) -> str:
    rate = row.rate
    if rate is None or rate.value is None or rate.low is None or rate.high is None:
        return f"{say('no verdict')}<br>{_hover_time(row)}"
    count = say("{rate}, {count} of {trials} trials")
    interval = say("95 % interval {low} to {high}")
    lines = [
        count.format(rate=f"{rate.value:.0%}", count=rate.count, trials=rate.trials),
        interval.format(low=f"{rate.low:.0%}", high=f"{rate.high:.0%}"),
    ]
    return "<br>".join([*lines, _hover_time(row)])


def _hover_time(row: ChartPoint) -> str:
    lines = [theme.moment(row.at)]
    if row.step:
        lines.append(say("and the {step} after").format(step=format_duration(row.step)))
    else:
        lines.append(
            say("run {number}, {suite}").format(number=row.run_id, suite=suite_label(row.suite))
        )
    if row.live:
        lines.append(say("live traffic"))
    if row.simulated:
        lines.append(say("simulated history"))
    return "<br>".join(lines)
