"""Filters and tags for endpoints that are managed by a file."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard.endpoints.as_code import drift, text
from dashboard.endpoints.as_code.apply_plan import Action
from dashboard.models import Applied, Endpoint

register = template.Library()


@register.filter
def sign(action: Action) -> str:
    return text.SIGNS[action].replace("-", "−")


register.filter(text.done_label)
register.filter(text.format_value)


@register.inclusion_tag("endpoints/_edited_here.html")
def edited_here(endpoint: Endpoint) -> dict[str, Any]:
    """The mark of an endpoint with edits since the last apply; nothing without edits."""
    edited = drift.read_drift(endpoint)
    return {"edited": edited, "applied": Applied.objects.get(pk=endpoint.pk) if edited else None}
