"""The rights of the signed-in person: pages offer nothing that would be refused."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext

from dashboard.core.permissions import Right, actor_of
from dashboard.models import Endpoint

register = template.Library()

_ANY = "some"


@register.simple_tag(takes_context=True)
def may(context: RequestContext, right: str, endpoint: Endpoint | str | None = _ANY) -> bool:
    """`{% may "operate" endpoint as can_operate %}`: whether they have the right over it.

    None stands for all endpoints; without an endpoint, the right over any of them is enough.
    """
    actor = actor_of(context.request)
    if endpoint == _ANY:
        return actor.may_somewhere(Right(right))
    # A variable that the page does not have is an empty string, not an endpoint: no rights.
    if isinstance(endpoint, str):
        return False
    return actor.may(Right(right), endpoint.team_id if endpoint else None)
