"""Template tags of incidents: severity badges and figures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import template

from dashboard.core import durations
from health.severity import Severity, severity_name

register = template.Library()

# Paths on 12 x 12, so that severities differ in shape as well as in colour.
_SHAPES = {
    1: "M6 1 11.5 11H.5Z",
    2: "M6 .5 11.5 6 6 11.5.5 6Z",
    3: "M1 1h10v10H1Z",
}


@register.inclusion_tag("parts/_status.html")
def severity_badge(severity: int, suffix: str = "") -> dict[str, Any]:
    words = f"S{severity} {severity_name(Severity(severity))}{suffix}"
    return {"kind": f"severity-{severity}", "path": _SHAPES[severity], "label": words}


@register.filter
def rough_duration(value: timedelta) -> str:
    return durations.format_rough_duration(value)


@register.filter
def tenths(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
