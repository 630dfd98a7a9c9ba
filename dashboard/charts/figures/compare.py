"""One metric of several endpoints: lines that differ by colour, dash and marker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.figures import theme
from dashboard.core.durations import format_duration
from dashboard.core.safe_text import visible
from health.rates import Rate
from health.translation import say

_LEGEND = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "font": {"size": 12}}
# CSS variables. Dash and marker identify a line without colour too.
COLOURS = tuple(f"var(--compare-{place})" for place in range(1, 7))
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")


@dataclass(frozen=True, slots=True)
class ComparePoint:
    """The rate of an endpoint in one time step under one key."""

    at: datetime  # when the step begins
    epoch: int
    rate: Rate


@dataclass(frozen=True, slots=True)
class CompareLine:
    """An endpoint's slug and its points in order of time."""

    slug: str
    points: Sequence[ComparePoint]


def compare_figure(drawn: Sequence[CompareLine], name: str, step: timedelta) -> dict[str, Any]:
    """The figure for at most six lines of the metric that is called `name`."""
    chart = go.Figure(
        data=[_line_trace(line, place, step) for place, line in enumerate(drawn)],
        layout=theme.layout(
            template=None,
            margin={"l": 58, "r": 12, "t": 12, "b": 48},
            legend=_LEGEND,
            showlegend=True,
            xaxis=_time_axis(),
            yaxis=theme.axis(
                say("{name} (%)").format(name=name),
                range=[-0.04, 1.04],
                tickvals=[0, 0.25, 0.5, 0.75, 1],
                tickformat=".0%",
                fixedrange=True,
            ),
        ),
    )
    chart.layout.template = go.layout.Template()
    return dict(chart.to_plotly_json())


def _time_axis() -> dict[str, Any]:
    """It fits the points; charts.js says in whose zone it is."""
    # No standoff: it is counted from the labels, and a short span may have none on a phone.
    title = {"text": "", "font": {"color": theme.MUTED}}
    return {**theme.axis("", type="date", tickangle=0), "title": title}


def _line_trace(line: CompareLine, place: int, step: timedelta) -> go.Scatter:
    points, slug = list(_with_gaps(line.points)), escape(visible(line.slug))
    return go.Scatter(
        name=slug,
        mode="lines+markers",
        x=[point and theme.iso(point.at) for point in points],
        y=[point and point.rate.value for point in points],
        text=[point and _hover_text(slug, point, step) for point in points],
        hovertemplate="%{text}<extra></extra>",
        line={"color": COLOURS[place], "width": 1.75, "dash": DASHES[place]},
        marker={
            "symbol": MARKERS[place],
            "color": COLOURS[place],
            "size": 7,
            "line": {"color": theme.SURFACE, "width": 1},
        },
    )


def _with_gaps(points: Sequence[ComparePoint]) -> Iterable[ComparePoint | None]:
    """Points with a None wherever the epoch changes, so that no line runs across a new key."""
    before: ComparePoint | None = None
    for point in points:
        if before and before.epoch != point.epoch:
            yield None
        yield point
        before = point


def _hover_text(slug: str, point: ComparePoint, step: timedelta) -> str:
    rate = point.rate
    when = say("{moment} and the {step} after, profile {epoch}").format(
        moment=theme.moment(point.at), step=format_duration(step), epoch=point.epoch
    )
    if rate.value is None or rate.low is None or rate.high is None:
        return f"<b>{slug}</b><br>{say('no data')}<br>{when}"
    figures = say("{rate}, {count} of {trials}").format(
        rate=f"{rate.value:.0%}", count=rate.count, trials=rate.trials
    )
    interval = say("95 % interval {low} to {high}").format(
        low=f"{rate.low:.0%}", high=f"{rate.high:.0%}"
    )
    return f"<b>{slug}</b><br>{figures}<br>{interval}<br>{when}"
