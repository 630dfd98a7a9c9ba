"""Incidents and modes as lanes above the runs, maintenance as bands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any

import plotly.graph_objects as go

from dashboard.charts.figures import theme
from dashboard.charts.figures.change_marks import Mark
from dashboard.core.safe_text import clip, visible
from health.translation import say, say_many

# CSS variables.
INCIDENT, MODE, QUIET = "var(--bad-fill)", "var(--warn-fill)", "var(--chart-quiet)"
# Above the highest rate, one lane over the other; marks are the lowest of them.
INCIDENT_Y, MODE_Y, TOP = 1.15, 1.22, 1.28
_MAX_LINES = 6
# Of the whole axis: nearer than that, two bars or two ends are one.
_CLOSE = 1 / 120


@dataclass(frozen=True, slots=True)
class Episode:
    """An incident, mode or maintenance window; `end` is None while it lasts."""

    start: datetime
    end: datetime | None
    title: str
    began: str = "began"
    ended: str = "ended"


@dataclass(frozen=True, slots=True)
class Reference:
    """The rate that runs were compared with for some time, with its alarm levels."""

    start: datetime
    end: datetime
    rate: float
    text: str
    provisional: bool = False
    # The rate of one run that is warned of, and of two in a row that raise the alarm.
    warn: float | None = None
    alarm: float | None = None


@dataclass(frozen=True, slots=True)
class ChartAnnotations:
    """Everything that a chart shows besides its points."""

    incidents: Sequence[Episode] = ()
    modes: Sequence[Episode] = ()
    windows: Sequence[Episode] = ()
    references: Sequence[Reference] = ()
    marks: Sequence[Mark] = ()

    @property
    def latest(self) -> datetime | None:
        """The last moment at which an incident, a mode or a note began or ended."""
        ends = [each.end or each.start for each in [*self.incidents, *self.modes]]
        return max([*ends, *(mark.at for mark in self.marks)], default=None)


NO_ANNOTATIONS = ChartAnnotations()


def lane_traces(annotations: ChartAnnotations, left: datetime, right: datetime) -> list[go.Scatter]:
    """The lanes of incidents and modes; ongoing ones reach the right edge."""
    return [
        _lane_trace(say("Incident"), annotations.incidents, (INCIDENT_Y, INCIDENT), (left, right)),
        _lane_trace(say("Mode on"), annotations.modes, (MODE_Y, MODE), (left, right)),
    ]


def maintenance_bands(windows: Sequence[Episode], right: datetime) -> list[dict[str, Any]]:
    """A band over the whole height for each maintenance window."""
    return [
        {
            "type": "rect",
            "layer": "below",
            "x0": theme.iso(window.start),
            "x1": theme.iso(window.end or right),
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "fillcolor": QUIET,
            "line": {"width": 0},
        }
        for window in windows
    ]


def maintenance_labels(windows: Sequence[Episode], left: datetime) -> list[dict[str, Any]]:
    """A label along the left edge of each band."""
    return [
        {
            "x": theme.iso(max(window.start, left)),
            "y": 0.02,
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom",
            "textangle": -90,
            "text": say("maintenance"),
            "hovertext": f"{_safe_label(window.title)}<br>{theme.moment(window.start)}",
            "showarrow": False,
            "font": {"size": 11, "color": theme.MUTED},
        }
        for window in windows
    ]


def _lane_trace(
    name: str,
    episodes: Sequence[Episode],
    look: tuple[float, str],
    bounds: tuple[datetime, datetime],
) -> go.Scatter:
    (y, colour), (left, right) = look, bounds
    xs: list[str | None] = []
    texts: list[str | None] = []
    symbols: list[str] = []
    for group in _group_overlapping(episodes, (right - left) * _CLOSE, right):
        ends = _bar_ends(group, bounds, (right - left) * _CLOSE)
        text = _group_text(group)
        xs += [*(theme.iso(at) for at, _ in ends), None]
        texts += [*(text for _ in ends), None]
        symbols += [*(symbol for _, symbol in ends), "square"]
    return go.Scatter(
        name=name,
        mode="lines+markers",
        x=xs,
        y=[None if x is None else y for x in xs],
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        line={"color": colour, "width": 4},
        marker={"symbol": symbols, "color": colour, "size": 8},
        showlegend=bool(episodes),
        cliponaxis=False,
    )


def _group_overlapping(
    episodes: Sequence[Episode], close: timedelta, right: datetime
) -> Iterable[list[Episode]]:
    """Episodes that overlap, or nearly, become one bar whose text lists all."""
    groups: list[list[Episode]] = []
    reach: datetime | None = None
    for each in sorted(episodes, key=lambda each: each.start):
        if reach is not None and each.start - reach < close:
            groups[-1].append(each)
        else:
            groups.append([each])
            reach = None
        over = each.end or right
        reach = over if reach is None else max(reach, over)
    return groups


def _bar_ends(
    group: Sequence[Episode], bounds: tuple[datetime, datetime], close: timedelta
) -> list[tuple[datetime, str]]:
    """Where a bar begins and ends, inside the axis, each with its shape."""
    left, right = bounds
    ends: list[tuple[datetime, str]] = []
    for each in group:
        over = each.end if each.end and each.end <= right else None
        ends.append((max(each.start, left), "square" if each.start >= left else "triangle-left"))
        ends.append((over or right, "square-open" if over else "triangle-right"))
    ends.sort(key=lambda end: end[0])
    # The last end shows whether the bar is ongoing, so it is always kept.
    kept = [ends[0]]
    for at, symbol in ends[1:-1]:
        if at - kept[-1][0] >= close and ends[-1][0] - at >= close:
            kept.append((at, symbol))
    return [*kept, ends[-1]]


def _group_text(group: Sequence[Episode]) -> str:
    lines = [_episode_text(each) for each in group[:_MAX_LINES]]
    rest = len(group) - _MAX_LINES
    if rest > 0:
        lines.append(say_many("and {rest} more", "and {rest} more", rest).format(rest=rest))
    return "<br>".join(lines)


def _episode_text(each: Episode) -> str:
    began = f"{each.began} {theme.moment(each.start)}"
    until = f"{each.ended} {theme.moment(each.end)}" if each.end else say("and goes on")
    return f"{_safe_label(each.title)}<br>{began}<br>{until}"


def _safe_label(text: str) -> str:
    # Untrusted text: Plotly would interpret its markup.
    return escape(visible(clip(text, 200)))
