"""A metric over time: one marker a run or step, the band, live traffic, seams of the key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from html import escape
from itertools import groupby
from typing import Any

import plotly.graph_objects as go

from dashboard.charts import lanes, seams, theme
from dashboard.charts.lanes import Happened
from dashboard.charts.rows import Mark, Row, Shown
from dashboard.durations import short
from dashboard.inert import visible
from health.metrics import DIRECTIONS
from health.words import NAMES

# A little under the axis, so that a run without a verdict is not read as 0 %.
_NO_VERDICT_Y = -0.05
# More would hide the runs.
_MOST_DIAMONDS = 50
# Below the axis: beside the title it would cover it on a narrow screen.
_LEGEND = {"orientation": "h", "x": 0, "y": -0.27, "yanchor": "top", "font": {"size": 11}}


def figure(shown: Shown) -> dict[str, Any]:
    """The Plotly figure, as plain data."""
    happened, rows, changed = shown.happened, shown.rows, seams.firsts(shown.rows)
    left, right = _span(rows, happened)
    chart = go.Figure(
        data=[
            _band(shown.runs),
            _line(shown.runs),
            _live_line(shown.live),
            _no_verdict(shown.runs),
            _told(shown.marks),
            *lanes.traces(happened, right),
        ],
        layout=theme.layout(
            template=None,
            title=_title(shown),
            margin={"l": 58, "r": 12, "t": 40, "b": 48},
            legend=_LEGEND,
            xaxis=_time_axis(left, right),
            yaxis=theme.axis(
                f"Rate (%), {DIRECTIONS[shown.metric]} is good",
                range=[-0.09, lanes.TOP],
                tickvals=[0, 0.25, 0.5, 0.75, 1],
                tickformat=".0%",
                fixedrange=True,
            ),
            shapes=[*lanes.bands(happened.windows, right), *(seams.line(row) for row in changed)],
            annotations=[
                *lanes.band_words(happened.windows),
                *(seams.words(row, rows) for row in changed),
            ],
        ),
    )
    chart.layout.template = go.layout.Template()
    return dict(chart.to_plotly_json())


def _time_axis(left: datetime, right: datetime) -> dict[str, Any]:
    axis = theme.axis(
        "Time (UTC)", type="date", range=[theme.iso(left), theme.iso(right)], tickangle=0
    )
    # No standoff: it is counted from the labels, and a short span may have none on a phone.
    title = {"text": "Time (UTC)", "font": {"color": theme.MUTED}}
    return {**axis, "title": title}


def _span(rows: Sequence[Row], happened: Happened) -> tuple[datetime, datetime]:
    """From the first run to the last moment, with air; a long label would widen it otherwise."""
    first, last = rows[0].at, max(rows[-1].at, happened.latest or rows[-1].at)
    air = max((last - first) * 0.03, timedelta(seconds=20))
    return first - air, last + air


def _title(shown: Shown) -> dict[str, Any]:
    return {
        "text": f"{NAMES[shown.metric]} by {_unit(shown)}",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "top",
        "pad": {"t": 5},
        "font": {"size": 14, "color": theme.TEXT, "weight": 600},
    }


def _unit(shown: Shown) -> str:
    first = (shown.runs or shown.live)[0]
    of = "live traffic" if first.live else "runs"
    return f"{short(first.step)} of {of}" if first.step else "run"


def _line(rows: Sequence[Row]) -> go.Scatter:
    judged = list(_with_gaps([row for row in rows if row.rate]))
    return go.Scatter(
        name="Runs together" if rows and rows[0].step else "Run",
        legendrank=1,
        mode="lines+markers",
        x=[row and theme.iso(row.at) for row in judged],
        y=[row and row.rate and row.rate.value for row in judged],
        text=[row and _hover(row) for row in judged],
        customdata=[row and row.run_id for row in judged],
        hovertemplate="%{text}<extra></extra>",
        line={"color": theme.SERIES, "width": 1.75},
        marker={"color": theme.SERIES, "size": 7, "line": {"color": theme.SURFACE, "width": 1}},
        error_y=_lone_intervals(judged),
        showlegend=bool(judged),
    )


def _live_line(rows: Sequence[Row]) -> go.Scatter:
    points = list(_with_gaps(rows))
    return go.Scatter(
        name="Live traffic",
        legendrank=2,
        mode="lines+markers" if len(points) <= _MOST_DIAMONDS else "lines",
        x=[row and theme.iso(row.at) for row in points],
        y=[row and row.rate and row.rate.value for row in points],
        text=[row and _hover(row) for row in points],
        hovertemplate="%{text}<extra></extra>",
        line={"color": theme.LIVE, "width": 1.5, "dash": "dash"},
        marker={"symbol": "diamond", "color": theme.LIVE, "size": 6},
        showlegend=bool(points),
    )


def _band(rows: Sequence[Row]) -> go.Scatter:
    xs: list[str | None] = []
    ys: list[float | None] = []
    for _, group in groupby((row for row in rows if row.rate), key=lambda row: row.epoch):
        stretch = list(group)
        times = [theme.iso(row.at) for row in stretch]
        xs += [*times, *reversed(times), None]
        ys += [row.rate.high if row.rate else None for row in stretch]
        ys += [*(row.rate.low if row.rate else None for row in reversed(stretch)), None]
    return go.Scatter(
        name="95 % interval",
        x=xs,
        y=ys,
        fill="toself",
        fillcolor=theme.BAND,
        mode="lines",
        line={"width": 0, "color": theme.BAND},
        hoverinfo="skip",
        showlegend=bool(xs),
    )


def _no_verdict(rows: Sequence[Row]) -> go.Scatter:
    void = [row for row in rows if row.rate is None]
    return go.Scatter(
        name="No verdict",
        mode="markers",
        x=[theme.iso(row.at) for row in void],
        y=[_NO_VERDICT_Y for _ in void],
        text=[_hover(row) for row in void],
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


def _told(marks: Sequence[Mark]) -> go.Scatter:
    return go.Scatter(
        name="New fingerprint",
        mode="markers",
        x=[theme.iso(mark.at) for mark in marks],
        y=[lanes.FINGERPRINT_Y for _ in marks],
        text=[_told_words(mark) for mark in marks],
        hovertemplate="%{text}<extra></extra>",
        marker={"symbol": "triangle-down", "color": theme.SEAM, "size": 10},
        showlegend=bool(marks),
        cliponaxis=False,
    )


def _told_words(mark: Mark) -> str:
    # The endpoint's own words: Plotly would take markup in them for its own.
    fact, before, after = (escape(visible(text)) for text in (mark.fact, mark.before, mark.after))
    name = fact.replace("_", " ")
    return f"{name}: {before or 'not told'}<br>is now {after}<br>{mark.at:%d %b %Y %H:%M} UTC"


def _with_gaps(rows: Sequence[Row]) -> Iterable[Row | None]:
    """Rows with a None wherever the epoch changes, so that no line runs across a seam."""
    for before, row in zip([None, *rows[:-1]], rows, strict=True) if rows else ():
        if before and before.epoch != row.epoch:
            yield None
        yield row


def _lone_intervals(rows: Sequence[Row | None]) -> dict[str, Any]:
    """Error bars for runs that stand alone in their epoch, where a band has no width."""
    sizes = {epoch: len(list(group)) for epoch, group in groupby(row.epoch for row in rows if row)}
    lone = [row.rate if row and sizes[row.epoch] == 1 else None for row in rows]
    up = [rate and (rate.high or 0) - (rate.value or 0) for rate in lone]
    down = [rate and (rate.value or 0) - (rate.low or 0) for rate in lone]
    style = {"color": theme.SERIES, "thickness": 1, "width": 4}
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **style}


def _hover(row: Row) -> str:
    when = f"{row.at:%d %b %Y %H:%M} UTC<br>"
    when += f"and the {short(row.step)} after" if row.step else f"run {row.run_id}, {row.suite}"
    when += ", live traffic" if row.live else ""
    when += ", simulated history" if row.simulated else ""
    rate = row.rate
    if rate is None or rate.value is None or rate.low is None or rate.high is None:
        return f"no verdict<br>{when}"
    interval = f"95 % interval {rate.low:.0%} to {rate.high:.0%}"
    return f"{rate.value:.0%}, {rate.count} of {rate.trials} trials<br>{interval}<br>{when}"
