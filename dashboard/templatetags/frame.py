"""What the frame around every page needs to know."""

from __future__ import annotations

from functools import cache
from importlib import metadata

from django import template
from django.template.context import RequestContext
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

register = template.Library()

# Everything that starts otherwise belongs to the fleet: endpoints and their runs.
_SECTIONS = ("incidents", "compare", "settings")
_CURRENT = SafeString(' aria-current="page"')
_WITHIN = SafeString(' aria-current="true"')
# Name of the page, its word, whether only administrators may open it.
_TABS: tuple[tuple[str, Promise, bool], ...] = (
    ("system", _("System"), False),
    ("channels", _("Channels"), True),
    ("tool-rules", _("Tools"), True),
    ("maintenance", _("Maintenance"), False),
    ("tokens", _("API tokens"), True),
    ("import", _("Import"), True),
)


@register.simple_tag(takes_context=True)
def current_section(context: RequestContext, name: str) -> str:
    """Marks the entry of the menu that leads to this page, or to the pages it is one of."""
    match = context.request.resolver_match if context.request else None
    if match is None:
        return ""
    section = match.route.split("/", 1)[0]
    if (section if section in _SECTIONS else "fleet") != name or match.url_name == "login":
        return ""
    return _CURRENT if match.url_name == name else _WITHIN


@register.simple_tag(takes_context=True)
def settings_tabs(context: RequestContext) -> list[tuple[str, Promise]]:
    """The pages of the settings that this person may open."""
    user = context.request.user
    return [(name, words) for name, words, closed in _TABS if user.is_superuser or not closed]


@register.simple_tag
@cache
def version() -> str:
    return metadata.version("toolgauge")
