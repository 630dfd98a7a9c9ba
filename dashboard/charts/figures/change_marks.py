"""Changes as marks above the rates; marks that are too close become one."""

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
# More lines would fill the screen.
_MAX_LINES = 6
_MAX_LENGTH = 120
# Of the whole axis: about the size of a mark on a wide screen.
_CLOSE = 1 / 40


class MarkKind(StrEnum):
    FINGERPRINT = "fingerprint"
    SUITE = "suite"
    STAGE = "stage"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Mark:
    """One change; `text` is untrusted."""

    at: datetime
    kind: MarkKind
    text: str


_SYMBOLS = {
    MarkKind.FINGERPRINT: "triangle-down",
    MarkKind.SUITE: "hourglass",
    MarkKind.STAGE: "star",
    MarkKind.NOTE: "diamond-tall",
}
_COLOURS = {MarkKind.NOTE: theme.SERIES}


def mark_traces(marks: Sequence[Mark], left: datetime, right: datetime) -> list[go.Scatter]:
    """One trace per kind, and one for groups of close marks."""
    groups = group_marks(marks, (right - left) * _CLOSE)
    alone = [group[0] for group in groups if len(group) == 1]
    kinds = [_kind_trace(kind, [mark for mark in alone if mark.kind is kind]) for kind in MarkKind]
    return [*kinds, _group_trace([group for group in groups if len(group) > 1])]


def group_marks(marks: Sequence[Mark], close: timedelta) -> list[list[Mark]]:
    """Marks in order of time, grouped if too close to tell apart."""
    groups: list[list[Mark]] = []
    for mark in sorted(marks, key=lambda mark: mark.at):
        if groups and mark.at - groups[-1][0].at < close:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def _kind_trace(kind: MarkKind, marks: Sequence[Mark]) -> go.Scatter:
    return go.Scatter(
        name=_kind_name(kind),
        mode="markers",
        x=[theme.iso(mark.at) for mark in marks],
        y=[Y for _ in marks],
        text=[f"{_mark_text(mark)}<br>{theme.moment(mark.at)}" for mark in marks],
        hovertemplate="%{text}<extra></extra>",
        marker={
            "symbol": _SYMBOLS[kind],
            "color": _COLOURS.get(kind, theme.SEAM),
            "size": 10,
        },
        showlegend=bool(marks),
        cliponaxis=False,
    )


def _group_trace(groups: Sequence[Sequence[Mark]]) -> go.Scatter:
    return go.Scatter(
        name=say("Several changes"),
        mode="markers+text",
        x=[theme.iso(group[0].at) for group in groups],
        y=[Y for _ in groups],
        text=[str(len(group)) for group in groups],
        textposition="middle center",
        textfont={"size": 10, "color": theme.SURFACE},
        customdata=[None for _ in groups],
        hovertext=[_group_text(group) for group in groups],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={"symbol": "circle", "color": theme.SEAM, "size": 16},
        showlegend=bool(groups),
        cliponaxis=False,
    )


def _group_text(group: Sequence[Mark]) -> str:
    lines = [f"{_mark_text(mark)}, {theme.moment(mark.at)}" for mark in group[:_MAX_LINES]]
    rest = len(group) - _MAX_LINES
    more = [say_many("and {rest} more", "and {rest} more", rest).format(rest=rest)]
    return "<br>".join(lines + more if rest > 0 else lines)


def _mark_text(mark: Mark) -> str:
    # Untrusted text: Plotly would interpret its markup.
    return escape(visible(clip(mark.text, _MAX_LENGTH)))


def _kind_name(kind: MarkKind) -> str:
    names = {
        MarkKind.FINGERPRINT: say("New fingerprint"),
        MarkKind.SUITE: say("New suite version"),
        MarkKind.STAGE: say("New stage"),
        MarkKind.NOTE: say("Note"),
    }
    return names[kind]
