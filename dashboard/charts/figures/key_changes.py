"""Vertical lines with labels where the profile key changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from dashboard.charts.figures import theme
from dashboard.charts.figures.chart_values import ChartPoint
from health.translation import say, say_many

# Share of the axis: labels of closer lines would overlap.
_CLOSE = 1 / 45


class KeyedPoint(Protocol):
    """A point measured under a profile key."""

    @property
    def epoch(self) -> int: ...

    @property
    def epoch_since(self) -> datetime: ...


T = TypeVar("T", bound=KeyedPoint)


def first_points(rows: Sequence[T]) -> list[T]:
    """The first row under each key but the oldest, for rows in order of time."""
    # A step of live traffic begins before the key changed in it: lanes overlap at a seam.
    by_epoch: dict[int, T] = {}
    for row in rows:
        by_epoch.setdefault(row.epoch, row)
    return list(by_epoch.values())[1:]


def key_line(row: KeyedPoint) -> dict[str, Any]:
    """A line over the whole height, where the key changed."""
    at = theme.iso(row.epoch_since)
    style = {"color": theme.SEAM, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": style}


def key_labels(
    changed: Sequence[KeyedPoint], rows: Sequence[ChartPoint], span: timedelta
) -> list[dict[str, Any]]:
    """Labels along the lines; close lines share one."""
    groups: list[list[KeyedPoint]] = []
    for seam in changed:
        if groups and seam.epoch_since - groups[-1][-1].epoch_since < span * _CLOSE:
            groups[-1].append(seam)
        else:
            groups.append([seam])
    return [_key_label(group, rows) for group in groups]


def _key_label(group: Sequence[KeyedPoint], rows: Sequence[ChartPoint]) -> dict[str, Any]:
    side, half = _free_label_place(group[0], rows)
    one = say("new key, profile {epoch}").format(epoch=group[-1].epoch)
    some = say_many(
        "{count} new key, to profile {epoch}", "{count} new keys, to profile {epoch}", len(group)
    )
    return {
        "x": theme.iso(group[0].epoch_since),
        "y": 0.07 if half == "bottom" else 0.8,
        "yref": "paper",
        "xanchor": "right" if side == "before" else "left",
        "yanchor": half,
        "textangle": -90,
        "text": one if len(group) == 1 else some.format(count=len(group), epoch=group[-1].epoch),
        "showarrow": False,
        "font": {"size": 11, "color": theme.SEAM},
    }


def _free_label_place(seam: KeyedPoint, rows: Sequence[ChartPoint]) -> tuple[str, str]:
    """Where the label covers no run: before or after the line, in the lower or upper half."""
    rated = [(row.at < seam.epoch_since, row.rate.value) for row in rows if row.rate]
    values = [(before, value) for before, value in rated if value is not None]
    near = {
        "before": [value for before, value in values if before][-8:],
        "after": [value for before, value in values if not before][:8],
    }
    for side, values_nearby in near.items():
        if min(values_nearby, default=1) >= 0.55:
            return side, "bottom"
    for side, values_nearby in near.items():
        if max(values_nearby, default=0) <= 0.45:
            return side, "top"
    return "before", "bottom"
