"""Where the key changed: a line through the chart, with words beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from dashboard.charts.figures import theme
from dashboard.charts.figures.chart_values import Row
from health.translation import say, say_many

# Of the whole axis: words along two lines that are nearer would cover each other.
_CLOSE = 1 / 45


class Under(Protocol):
    """Whatever stands under a key."""

    @property
    def epoch(self) -> int: ...

    @property
    def epoch_since(self) -> datetime: ...


T = TypeVar("T", bound=Under)


def firsts(rows: Sequence[T]) -> list[T]:
    """The first row under each key but the oldest, for rows in order of time."""
    # A step of live traffic begins before the key changed in it: lanes overlap at a seam.
    found: dict[int, T] = {}
    for row in rows:
        found.setdefault(row.epoch, row)
    return list(found.values())[1:]


def line(row: Under) -> dict[str, Any]:
    """A line over the whole height, where the key changed."""
    at = theme.iso(row.epoch_since)
    style = {"color": theme.SEAM, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": style}


def words(changed: Sequence[Under], rows: Sequence[Row], span: timedelta) -> list[dict[str, Any]]:
    """What the lines are, along them; those that stand close share their words."""
    groups: list[list[Under]] = []
    for seam in changed:
        if groups and seam.epoch_since - groups[-1][-1].epoch_since < span * _CLOSE:
            groups[-1].append(seam)
        else:
            groups.append([seam])
    return [_words(group, rows) for group in groups]


def _words(group: Sequence[Under], rows: Sequence[Row]) -> dict[str, Any]:
    side, half = _free_place(group[0], rows)
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


def _free_place(seam: Under, rows: Sequence[Row]) -> tuple[str, str]:
    """Where the words of a seam cover no run: before or after it, in the lower or upper half."""
    rated = [(row.at < seam.epoch_since, row.rate.value) for row in rows if row.rate]
    values = [(before, value) for before, value in rated if value is not None]
    near = {
        "before": [value for before, value in values if before][-8:],
        "after": [value for before, value in values if not before][:8],
    }
    for side, found in near.items():
        if min(found, default=1) >= 0.55:
            return side, "bottom"
    for side, found in near.items():
        if max(found, default=0) <= 0.45:
            return side, "top"
    return "before", "bottom"
