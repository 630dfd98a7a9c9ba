"""Tags of the page frame: menu, settings tabs, version."""

from __future__ import annotations

from functools import cache
from importlib import metadata

from django import template
from django.template.context import RequestContext
from django.utils.safestring import SafeString

from dashboard.core import navigation
from dashboard.core.permissions import actor_of

register = template.Library()

# All other routes belong to the fleet: endpoints and their runs.
_SECTIONS = ("incidents", "rollouts", "compare", "audit", "settings")
# Pages in front of another page, which belong to no section.
_SIGN_IN_PAGES = {"login", "login-code", "confirm"}
_CURRENT = SafeString(' aria-current="page"')
_WITHIN = SafeString(' aria-current="true"')


@register.simple_tag(takes_context=True)
def current_section(context: RequestContext, name: str) -> str:
    """The aria-current attribute if the menu entry leads to this page or to its section."""
    match = getattr(context.get("request"), "resolver_match", None)
    if match is None:
        return ""
    section = match.route.split("/", 1)[0]
    if (section if section in _SECTIONS else "fleet") != name or match.url_name in _SIGN_IN_PAGES:
        return ""
    return _CURRENT if match.url_name == name else _WITHIN


@register.simple_tag(takes_context=True)
def settings_tabs(context: RequestContext) -> list[navigation.SettingsPage]:
    """The settings pages that this person may open."""
    return navigation.settings_tabs(actor_of(context.request))


@register.simple_tag
@cache
def version() -> str:
    return metadata.version("toolgauge")
