"""Who somebody is, in words."""

from __future__ import annotations

from django import template
from django.contrib.auth.models import User
from django.template.context import RequestContext

from dashboard.core.permissions import actor_of
from dashboard.models import Grant, Invitation
from dashboard.models.people import Role
from dashboard.people import text as role_words
from dashboard.people.services import people

register = template.Library()


@register.simple_tag(takes_context=True)
def own_roles(context: RequestContext) -> str:
    """The roles of whoever looks; they were read already to let them in."""
    is_administrator = context.request.user.is_superuser
    return role_words.roles_label(actor_of(context.request).held, administrator=is_administrator)


@register.filter
def roles(person: User) -> str:
    """The roles of somebody whose grants are fetched with their teams."""
    grants = person.grants.all()
    held = [(Role(each.role), each.team.name if each.team else None) for each in grants]
    return role_words.roles_label(held, administrator=person.is_superuser)


@register.filter
def awaited(person: User) -> Invitation | None:
    """The link that they have not followed yet; only those that are open are fetched."""
    return next(iter(person.invitations.all()), None)


@register.filter
def owes_a_password(person: User) -> bool:
    return people.must_change_password(person)


@register.filter
def may(grant: Grant) -> str:
    return str(role_words.ROLE_DESCRIPTIONS[grant.role])
