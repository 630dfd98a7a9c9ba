"""What whoever looks at a page may do: pages offer nothing that would be refused."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext

from dashboard.core.permissions import Right, actor_of
from dashboard.models import Endpoint

register = template.Library()

_SOME = "some"


@register.simple_tag(takes_context=True)
def may(context: RequestContext, right: str, endpoint: Endpoint | str | None = _SOME) -> bool:
    """`{% may "operate" endpoint as can_operate %}`: whether they may do it to that endpoint.

    None is every endpoint; where none is named it is enough that they may do it to some.
    """
    actor = actor_of(context.request)
    if endpoint == _SOME:
        return actor.may_somewhere(Right(right))
    # What a page does not know is no endpoint: an empty text, which nobody may do anything to.
    if isinstance(endpoint, str):
        return False
    return actor.may(Right(right), endpoint.team_id if endpoint else None)
