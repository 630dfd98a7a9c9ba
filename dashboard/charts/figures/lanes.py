"""What happened beside the runs: incidents and modes as lanes above them, maintenance as bands."""

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

# Names of the style sheet.
INCIDENT, MODE, QUIET = "var(--bad-fill)", "var(--warn-fill)", "var(--chart-quiet)"
# Above the highest rate, one lane over the other; marks are the lowest of them.
INCIDENT_Y, MODE_Y, TOP = 1.15, 1.22, 1.28
_MOST_WORDS = 6
# Of the whole axis: nearer than that, two bars or two ends are one.
_CLOSE = 1 / 120


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that began and, unless it goes on, ended."""

    start: datetime
    end: datetime | None
    title: str
    began: str = "began"
    ended: str = "ended"


@dataclass(frozen=True, slots=True)
class Reference:
    """The rate that runs were compared with for some time, and what would have been noticed."""

    start: datetime
    end: datetime
    rate: float
    words: str
    provisional: bool = False
    # The rate of one run that is warned of, and of two in a row that raise the alarm.
    warn: float | None = None
    alarm: float | None = None


@dataclass(frozen=True, slots=True)
class Happened:
    """All that a chart shows beside its runs."""

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


NOTHING = Happened()


def traces(happened: Happened, left: datetime, right: datetime) -> list[go.Scatter]:
    """The lanes of incidents and modes; what goes on reaches to the right edge."""
    return [
        _lane(say("Incident"), happened.incidents, (INCIDENT_Y, INCIDENT), (left, right)),
        _lane(say("Mode on"), happened.modes, (MODE_Y, MODE), (left, right)),
    ]


def bands(windows: Sequence[Episode], right: datetime) -> list[dict[str, Any]]:
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


def band_words(windows: Sequence[Episode], left: datetime) -> list[dict[str, Any]]:
    """What each band is, along its left edge."""
    return [
        {
            "x": theme.iso(max(window.start, left)),
            "y": 0.02,
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom",
            "textangle": -90,
            "text": say("maintenance"),
            "hovertext": f"{_safe(window.title)}<br>{theme.moment(window.start)}",
            "showarrow": False,
            "font": {"size": 11, "color": theme.MUTED},
        }
        for window in windows
    ]


def _lane(
    name: str,
    episodes: Sequence[Episode],
    look: tuple[float, str],
    bounds: tuple[datetime, datetime],
) -> go.Scatter:
    (y, colour), (left, right) = look, bounds
    xs: list[str | None] = []
    words: list[str | None] = []
    symbols: list[str] = []
    for group in _overlapping(episodes, (right - left) * _CLOSE, right):
        ends = _ends(group, bounds, (right - left) * _CLOSE)
        said = _said(group)
        xs += [*(theme.iso(at) for at, _ in ends), None]
        words += [*(said for _ in ends), None]
        symbols += [*(symbol for _, symbol in ends), "square"]
    return go.Scatter(
        name=name,
        mode="lines+markers",
        x=xs,
        y=[None if x is None else y for x in xs],
        text=words,
        hovertemplate="%{text}<extra></extra>",
        line={"color": colour, "width": 4},
        marker={"symbol": symbols, "color": colour, "size": 8},
        showlegend=bool(episodes),
        cliponaxis=False,
    )


def _overlapping(
    episodes: Sequence[Episode], close: timedelta, right: datetime
) -> Iterable[list[Episode]]:
    """Episodes that hold at the same time, or nearly, are one bar: its words tell all of them."""
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


def _ends(
    group: Sequence[Episode], bounds: tuple[datetime, datetime], close: timedelta
) -> list[tuple[datetime, str]]:
    """Where a bar begins and ends, inside the axis, each with its shape."""
    left, right = bounds
    found: list[tuple[datetime, str]] = []
    for each in group:
        over = each.end if each.end and each.end <= right else None
        found.append((max(each.start, left), "square" if each.start >= left else "triangle-left"))
        found.append((over or right, "square-open" if over else "triangle-right"))
    found.sort(key=lambda end: end[0])
    # The last one says whether it goes on, so it is kept whatever stands beside it.
    kept = [found[0]]
    for at, symbol in found[1:-1]:
        if at - kept[-1][0] >= close and found[-1][0] - at >= close:
            kept.append((at, symbol))
    return [*kept, found[-1]]


def _said(group: Sequence[Episode]) -> str:
    lines = [_of_one(each) for each in group[:_MOST_WORDS]]
    rest = len(group) - _MOST_WORDS
    if rest > 0:
        lines.append(say_many("and {rest} more", "and {rest} more", rest).format(rest=rest))
    return "<br>".join(lines)


def _of_one(each: Episode) -> str:
    began = f"{each.began} {theme.moment(each.start)}"
    until = f"{each.ended} {theme.moment(each.end)}" if each.end else say("and goes on")
    return f"{_safe(each.title)}<br>{began}<br>{until}"


def _safe(text: str) -> str:
    # People's and endpoints' words: Plotly would take markup in them for its own.
    return escape(visible(clip(text, 200)))
