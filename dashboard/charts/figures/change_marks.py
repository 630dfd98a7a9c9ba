"""Moments at which something changed, as marks above the rates; those too close become one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from html import escape

import plotly.graph_objects as go

from dashboard.charts.figures import theme
from dashboard.core.safe_text import clip, visible
from health.translation import say, say_many

Y = 1.08
# Of what stands in one place, more would fill the screen.
_MOST_WORDS = 6
_LONGEST = 120
# Of the whole axis: about the size of a mark on a wide screen.
_CLOSE = 1 / 40


class Kind(StrEnum):
    """What changed."""

    FINGERPRINT = "fingerprint"
    SUITE = "suite"
    STAGE = "stage"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Mark:
    """One change, in words that may be anybody's."""

    at: datetime
    kind: Kind
    words: str


_SYMBOLS = {
    Kind.FINGERPRINT: "triangle-down",
    Kind.SUITE: "hourglass",
    Kind.STAGE: "star",
    Kind.NOTE: "diamond-tall",
}
_COLOURS = {Kind.NOTE: theme.SERIES}


def traces(marks: Sequence[Mark], left: datetime, right: datetime) -> list[go.Scatter]:
    """A trace for each kind, and one for places where several stand together."""
    groups = together(marks, (right - left) * _CLOSE)
    alone = [group[0] for group in groups if len(group) == 1]
    kinds = [_single(kind, [mark for mark in alone if mark.kind is kind]) for kind in Kind]
    return [*kinds, _several([group for group in groups if len(group) > 1])]


def together(marks: Sequence[Mark], close: timedelta) -> list[list[Mark]]:
    """Marks in order of time, each with those that are too close behind it to tell apart."""
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        if groups and mark.at - groups[-1][0].at < close:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def _single(kind: Kind, marks: Sequence[Mark]) -> go.Scatter:
    return go.Scatter(
        name=_name(kind),
        mode="markers",
        x=[theme.iso(mark.at) for mark in marks],
        y=[Y for _ in marks],
        text=[f"{_said(mark)}<br>{theme.moment(mark.at)}" for mark in marks],
        hovertemplate="%{text}<extra></extra>",
        marker={
            "symbol": _SYMBOLS[kind],
            "color": _COLOURS.get(kind, theme.SEAM),
            "size": 10,
        },
        showlegend=bool(marks),
        cliponaxis=False,
    )


def _several(groups: Sequence[Sequence[Mark]]) -> go.Scatter:
    return go.Scatter(
        name=say("Several changes"),
        mode="markers+text",
        x=[theme.iso(group[0].at) for group in groups],
        y=[Y for _ in groups],
        text=[str(len(group)) for group in groups],
        textposition="middle center",
        textfont={"size": 10, "color": theme.SURFACE},
        customdata=[None for _ in groups],
        hovertext=[_all_said(group) for group in groups],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"symbol": "circle", "color": theme.SEAM, "size": 16},
        showlegend=bool(groups),
        cliponaxis=False,
    )


def _all_said(group: Sequence[Mark]) -> str:
    lines = [f"{_said(mark)}, {theme.moment(mark.at)}" for mark in group[:_MOST_WORDS]]
    rest = len(group) - _MOST_WORDS
    more = [say_many("and {rest} more", "and {rest} more", rest).format(rest=rest)]
    return "<br>".join(lines + more if rest > 0 else lines)


def _said(mark: Mark) -> str:
    # People's and endpoints' own words: Plotly would take markup in them for its own.
    return escape(visible(clip(mark.words, _LONGEST)))


def _name(kind: Kind) -> str:
    names = {
        Kind.FINGERPRINT: say("New fingerprint"),
        Kind.SUITE: say("New suite version"),
        Kind.STAGE: say("New stage"),
        Kind.NOTE: say("Note"),
    }
    return names[kind]
