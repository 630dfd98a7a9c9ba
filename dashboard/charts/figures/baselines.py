"""What runs are compared with, and the rates at which the detector would speak up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from dashboard.charts.figures import theme
from dashboard.charts.figures.lanes import INCIDENT, MODE, Reference
from health.translation import say

Point = Callable[[Reference], tuple[float | None, str]]


def traces(references: Sequence[Reference]) -> list[go.Scatter]:
    """The reference, and below it the lines of a warning and of an alarm."""
    provisional = bool(references) and all(each.provisional for each in references)
    name = say("Provisional reference") if provisional else say("Reference")
    return [
        _line(name, references, lambda each: (each.rate, each.words), (theme.MUTED, "dot")),
        _line(say("One run here warns"), references, _warn, (MODE, "dashdot")),
        _line(say("Two runs here alarm"), references, _alarm, (INCIDENT, "longdash")),
    ]


def _warn(each: Reference) -> tuple[float | None, str]:
    rate = each.warn
    words = say("one run at {rate} or worse is warned of")
    return rate, "" if rate is None else words.format(rate=f"{rate:.0%}")


def _alarm(each: Reference) -> tuple[float | None, str]:
    rate = each.alarm
    words = say("two runs in a row at {rate} or worse raise the alarm")
    return rate, "" if rate is None else words.format(rate=f"{rate:.0%}")


def _line(
    name: str, references: Sequence[Reference], point: Point, look: tuple[str, str]
) -> go.Scatter:
    xs: list[str | None] = []
    ys: list[float | None] = []
    words: list[str | None] = []
    for each in references:
        y, said = point(each)
        if y is not None:
            xs += [theme.iso(each.start), theme.iso(each.end), None]
            ys += [y, y, None]
            words += [said, said, None]
    return go.Scatter(
        name=name,
        mode="lines",
        x=xs,
        y=ys,
        text=words,
        hovertemplate="%{text}<extra></extra>",
        line={"color": look[0], "width": 1.25, "dash": look[1]},
        showlegend=bool(xs),
    )
