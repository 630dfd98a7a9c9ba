"""Who may decide on a request, and the reason why a user may not."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from dashboard.core.permissions import Actor, Right
from dashboard.models import RolloutRequest


def cannot_decide_reason(request: RolloutRequest, user: User, actor: Actor) -> str:
    """Empty if the user may decide."""
    if request.four_eyes and request.requested_by_id == user.pk:
        return _("You asked for it: somebody else decides.")
    if not actor.may(Right.DECIDE, request.profile.endpoint.team_id):
        return _("Approvers decide on it, and you are none of this endpoint.")
    return ""


def may_decide(request: RolloutRequest, user: User, actor: Actor) -> bool:
    return not cannot_decide_reason(request, user, actor)
