"""Traces of the reference and of the warning and alarm levels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from dashboard.charts.figures import theme
from dashboard.charts.figures.lanes import INCIDENT, MODE, Reference
from health.translation import say

LevelOf = Callable[[Reference], tuple[float | None, str]]


def reference_traces(references: Sequence[Reference]) -> list[go.Scatter]:
    provisional = bool(references) and all(each.provisional for each in references)
    name = say("Provisional reference") if provisional else say("Reference")
    return [
        _level_trace(name, references, lambda each: (each.rate, each.text), (theme.MUTED, "dot")),
        _level_trace(say("One run here warns"), references, _warning_level, (MODE, "dashdot")),
        _level_trace(say("Two runs here alarm"), references, _alarm_level, (INCIDENT, "longdash")),
    ]


def _warning_level(each: Reference) -> tuple[float | None, str]:
    rate = each.warn
    text = say("one run at {rate} or worse is warned of")
    return rate, "" if rate is None else text.format(rate=f"{rate:.0%}")


def _alarm_level(each: Reference) -> tuple[float | None, str]:
    rate = each.alarm
    text = say("two runs in a row at {rate} or worse raise the alarm")
    return rate, "" if rate is None else text.format(rate=f"{rate:.0%}")


def _level_trace(
    name: str, references: Sequence[Reference], point: LevelOf, look: tuple[str, str]
) -> go.Scatter:
    xs: list[str | None] = []
    ys: list[float | None] = []
    texts: list[str | None] = []
    for each in references:
        y, text = point(each)
        if y is not None:
            xs += [theme.iso(each.start), theme.iso(each.end), None]
            ys += [y, y, None]
            texts += [text, text, None]
    return go.Scatter(
        name=name,
        mode="lines",
        x=xs,
        y=ys,
        text=texts,
        hovertemplate="%{text}<extra></extra>",
        line={"color": look[0], "width": 1.25, "dash": look[1]},
        showlegend=bool(xs),
    )
