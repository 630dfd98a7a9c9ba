"""Severities as badges: a shape, a word, a colour."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import template

from dashboard.core import durations
from health.severity import Severity, severity_name

register = template.Library()

# Apart in shape as well as in colour. Drawn on 12 x 12.
_SHAPES = {
    1: "M6 1 11.5 11H.5Z",
    2: "M6 .5 11.5 6 6 11.5.5 6Z",
    3: "M1 1h10v10H1Z",
}


@register.inclusion_tag("parts/_status.html")
def severity_badge(severity: int, more: str = "") -> dict[str, Any]:
    words = f"S{severity} {severity_name(Severity(severity))}{more}"
    return {"kind": f"severity-{severity}", "path": _SHAPES[severity], "label": words}


@register.filter
def span(value: timedelta) -> str:
    """A span of time, for reading."""
    return durations.format_rough_duration(value)


@register.filter
def tenths(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
