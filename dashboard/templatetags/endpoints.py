"""Plans and edits of endpoints that a file describes, for templates."""

from __future__ import annotations

from typing import Any

from django import template

from dashboard.endpoints.as_code import drift, wording
from dashboard.endpoints.as_code.planning import Action, Effect
from dashboard.models import Applied, Endpoint
from probes.messages import JSON

register = template.Library()


@register.filter
def sign(action: Action) -> str:
    return wording.SIGNS[action].replace("-", "−")


@register.filter
def action_words(action: Action) -> str:
    return wording.action_words(action)


@register.filter
def done_words(action: Action) -> str:
    return wording.done_words(action)


@register.filter
def effect_words(effect: Effect) -> str:
    return wording.effect_words(effect)


@register.filter
def shown(value: JSON) -> str:
    return wording.shown(value)


@register.inclusion_tag("endpoints/_edited_here.html")
def edited_here(endpoint: Endpoint) -> dict[str, Any]:
    """The mark of an endpoint that no longer is what a file said; nothing where it still is."""
    edited = drift.of(endpoint)
    return {"edited": edited, "applied": Applied.objects.get(pk=endpoint.pk) if edited else None}
