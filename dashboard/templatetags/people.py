"""Roles and access of people."""

from __future__ import annotations

from django import template
from django.contrib.auth.models import User
from django.template.context import RequestContext

from dashboard.core import account_requirements
from dashboard.core.permissions import actor_of
from dashboard.models import Grant, Invitation
from dashboard.models.people import Role
from dashboard.people import text as role_text

register = template.Library()


@register.simple_tag(takes_context=True)
def own_roles(context: RequestContext) -> str:
    """The roles of the signed-in person, from the rights that the request has read already."""
    is_administrator = context.request.user.is_superuser
    return role_text.roles_label(actor_of(context.request).held, administrator=is_administrator)


@register.filter
def roles(person: User) -> str:
    """The roles of a person whose grants were prefetched with their teams."""
    grants = person.grants.all()
    held = [(Role(grant.role), grant.team.name if grant.team else None) for grant in grants]
    return role_text.roles_label(held, administrator=person.is_superuser)


@register.filter
def open_invitation(person: User) -> Invitation | None:
    """The unused link of a person whose open invitations were prefetched."""
    return next(iter(person.invitations.all()), None)


@register.filter
def must_change_password(person: User) -> bool:
    return account_requirements.must_change_password(person)


@register.filter
def role_description(grant: Grant) -> str:
    return str(role_text.ROLE_DESCRIPTIONS[grant.role])
