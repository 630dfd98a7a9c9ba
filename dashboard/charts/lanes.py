"""What happened beside the runs: incidents and modes as lanes above them, maintenance as bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

import plotly.graph_objects as go

from dashboard.charts import theme
from dashboard.inert import visible

# Names of the style sheet.
INCIDENT, MODE, QUIET = "var(--bad-fill)", "var(--warn-fill)", "var(--chart-quiet)"
# Above the highest rate, one lane over the other.
FINGERPRINT_Y, INCIDENT_Y, MODE_Y, TOP = 1.06, 1.12, 1.18, 1.23


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
    """The rate that runs were compared with for some time."""

    start: datetime
    end: datetime
    rate: float
    words: str
    provisional: bool = False


@dataclass(frozen=True, slots=True)
class Happened:
    """All that a chart shows beside its runs."""

    incidents: Sequence[Episode] = ()
    modes: Sequence[Episode] = ()
    windows: Sequence[Episode] = ()
    references: Sequence[Reference] = ()

    @property
    def latest(self) -> datetime | None:
        """The last moment at which an incident or a mode began or ended."""
        every = [*self.incidents, *self.modes]
        return max((each.end or each.start for each in every), default=None)


NOTHING = Happened()


def traces(happened: Happened, right: datetime) -> list[go.Scatter]:
    """The lanes and the reference; what goes on reaches to the right edge."""
    return [
        _lane("Incident", happened.incidents, INCIDENT_Y, INCIDENT, right),
        _lane("Mode on", happened.modes, MODE_Y, MODE, right),
        _reference(happened.references),
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


def band_words(windows: Sequence[Episode]) -> list[dict[str, Any]]:
    """What each band is, along its left edge."""
    return [
        {
            "x": theme.iso(window.start),
            "y": 0.02,
            "yref": "paper",
            "xanchor": "left",
            "yanchor": "bottom",
            "textangle": -90,
            "text": "maintenance",
            "hovertext": f"{_safe(window.title)}<br>{_when(window.start)}",
            "showarrow": False,
            "font": {"size": 11, "color": theme.MUTED},
        }
        for window in windows
    ]


def _lane(
    name: str, episodes: Sequence[Episode], y: float, colour: str, right: datetime
) -> go.Scatter:
    xs: list[str | None] = []
    words: list[str | None] = []
    symbols: list[str] = []
    for each in episodes:
        xs += [theme.iso(each.start), theme.iso(each.end or right), None]
        until = f"{each.ended} {_when(each.end)}" if each.end else "and goes on"
        said = f"{_safe(each.title)}<br>{each.began} {_when(each.start)}<br>{until}"
        words += [said, said, None]
        symbols += ["square", "square-open" if each.end else "triangle-right", "square"]
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


def _reference(references: Sequence[Reference]) -> go.Scatter:
    xs: list[str | None] = []
    ys: list[float | None] = []
    words: list[str | None] = []
    for each in references:
        xs += [theme.iso(each.start), theme.iso(each.end), None]
        ys += [each.rate, each.rate, None]
        words += [each.words, each.words, None]
    provisional = bool(references) and all(each.provisional for each in references)
    return go.Scatter(
        name="Provisional reference" if provisional else "Reference",
        mode="lines",
        x=xs,
        y=ys,
        text=words,
        hovertemplate="%{text}<extra></extra>",
        line={"color": theme.MUTED, "width": 1.25, "dash": "dot"},
        showlegend=bool(references),
    )


def _safe(text: str) -> str:
    # People's and endpoints' words: Plotly would take markup in them for its own.
    return escape(visible(text))


def _when(moment: datetime) -> str:
    return f"{moment:%d %b %Y %H:%M} UTC"
