"""What the frame around every page needs to know."""

from __future__ import annotations

from functools import cache
from importlib import metadata

from django import template
from django.template.context import RequestContext
from django.utils.safestring import SafeString

from dashboard.core import navigation
from dashboard.core.permissions import actor_of

register = template.Library()

# Everything that starts otherwise belongs to the fleet: endpoints and their runs.
_SECTIONS = ("incidents", "rollouts", "compare", "audit", "settings")
# Pages that one passes on the way to another.
_BETWEEN = {"login", "login-code", "confirm"}
_CURRENT = SafeString(' aria-current="page"')
_WITHIN = SafeString(' aria-current="true"')


@register.simple_tag(takes_context=True)
def current_section(context: RequestContext, name: str) -> str:
    """Marks the entry of the menu that leads to this page, or to the pages it is one of."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None:
        return ""
    section = match.route.split("/", 1)[0]
    if (section if section in _SECTIONS else "fleet") != name or match.url_name in _BETWEEN:
        return ""
    return _CURRENT if match.url_name == name else _WITHIN


@register.simple_tag(takes_context=True)
def settings_tabs(context: RequestContext) -> list[navigation.SettingsPage]:
    """The pages of the settings that this person may open."""
    return navigation.settings_tabs(actor_of(context.request))


@register.simple_tag
@cache
def version() -> str:
    return metadata.version("toolgauge")
