"""Where the key changed: a line across the chart, with its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.charts import theme
from dashboard.charts.rows import Row


def firsts(rows: Sequence[Row]) -> list[Row]:
    """The first row under each key but the oldest, for rows in order of time."""
    # A step of live traffic begins before the key changed in it: lanes overlap at a seam.
    found: dict[int, Row] = {}
    for row in rows:
        found.setdefault(row.epoch, row)
    return list(found.values())[1:]


def line(row: Row) -> dict[str, Any]:
    """A line over the whole height, where the key changed."""
    at = theme.iso(row.epoch_since)
    style = {"color": theme.SEAM, "width": 1, "dash": "dash"}
    return {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": style}


def words(row: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """What the line is, along it."""
    side, half = _free_place(row, rows)
    return {
        "x": theme.iso(row.epoch_since),
        "y": 0.07 if half == "bottom" else 0.8,
        "yref": "paper",
        "xanchor": "right" if side == "before" else "left",
        "yanchor": half,
        "textangle": -90,
        "text": f"new key, profile {row.epoch}",
        "showarrow": False,
        "font": {"size": 11, "color": theme.SEAM},
    }


def _free_place(seam: Row, rows: Sequence[Row]) -> tuple[str, str]:
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
