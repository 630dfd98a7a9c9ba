"""Plans and edits of endpoints that a file describes, for templates."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard.endpoints.as_code import drift, wording
from dashboard.endpoints.as_code.planning import Action
from dashboard.models import Applied, Endpoint

register = template.Library()


@register.filter
def sign(action: Action) -> str:
    return wording.SIGNS[action].replace("-", "−")


register.filter(wording.done_label)
register.filter(wording.format_value)


@register.inclusion_tag("endpoints/_edited_here.html")
def edited_here(endpoint: Endpoint) -> dict[str, Any]:
    """The mark of an endpoint that no longer is what a file said; nothing where it still is."""
    edited = drift.of(endpoint)
    return {"edited": edited, "applied": Applied.objects.get(pk=endpoint.pk) if edited else None}
