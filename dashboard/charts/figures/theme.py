"""Layout shared by all charts. Colours are CSS variables that charts.js resolves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

TEXT = "var(--text)"
MUTED = "var(--muted)"
LINE = "var(--line)"
SURFACE = "var(--surface)"
SERIES = "var(--chart-series)"
BAND = "var(--chart-band)"
LIVE = "var(--chart-live)"
SEAM = "var(--chart-seam)"
CLEAR = "rgba(0,0,0,0)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def layout(**over: Any) -> dict[str, Any]:
    """The layout of a time chart; `over` replaces its defaults."""
    return {
        "autosize": True,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": FONT, "size": 12, "color": MUTED},
        "margin": {"l": 58, "r": 12, "t": 66, "b": 48},
        "hovermode": "closest",
        "hoverlabel": {
            "bgcolor": SURFACE,
            "bordercolor": LINE,
            "font": {"family": FONT, "size": 12, "color": TEXT},
            "align": "left",
        },
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.01,
            "yanchor": "bottom",
            "font": {"size": 11},
        },
        "dragmode": "zoom",
        **over,
    }


def axis(title: str, **over: Any) -> dict[str, Any]:
    """An axis with a quiet grid."""
    return {
        "title": {"text": title, "font": {"color": MUTED}, "standoff": 10},
        "gridcolor": LINE,
        "linecolor": LINE,
        "zeroline": False,
        "automargin": True,
        **over,
    }


def time_axis(left: datetime, right: datetime) -> dict[str, Any]:
    """The axis of time; charts.js says in whose zone it is."""
    # No standoff: it is counted from the labels, and a short span may have none on a phone.
    title = {"text": "", "font": {"color": MUTED}}
    time = axis("", type="date", range=[iso(left), iso(right)], tickangle=0)
    return {**time, "title": title}


def iso(moment: datetime) -> str:
    """A moment as Plotly reads it, in UTC; charts.js moves it into the reader's zone."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def moment(at: datetime) -> str:
    """A moment inside text: charts.js writes it in the reader's zone and language."""
    return f"<time>{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}</time>"
