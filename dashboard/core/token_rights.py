"""What an API token may do: what its scopes open, of what its maker may do now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from django.contrib.auth.models import User

from dashboard.core import permissions
from dashboard.core.permissions import Actor, Right
from dashboard.models import ApiToken
from dashboard.models.people import Scope

# Whatever names a thing must at least see that it is there, hence READ everywhere; operations that
# only read ask for the scope `read` itself. What administrators alone may do is opened by the scope
# of its kind, read to look and decide to change: nobody else has the right, whatever the scope.
_SCOPE_RIGHTS: Mapping[str, frozenset[Right]] = MappingProxyType(
    {
        Scope.READ: frozenset({Right.READ, Right.ADMINISTER}),
        Scope.PROBE: frozenset({Right.READ, Right.PROBE}),
        Scope.OPERATE: frozenset({Right.READ, Right.PROBE, Right.OPERATE, Right.TIGHTEN}),
        Scope.DECIDE: frozenset({Right.READ, Right.TIGHTEN, Right.DECIDE, Right.ADMINISTER}),
    }
)
# What somebody needs to have, somewhere, to make a token of that scope.
_RIGHT_TO_GIVE: Mapping[Scope, Right] = MappingProxyType(
    {
        Scope.READ: Right.READ,
        Scope.PROBE: Right.PROBE,
        Scope.OPERATE: Right.OPERATE,
        Scope.DECIDE: Right.DECIDE,
        Scope.TELEMETRY: Right.OPERATE,
        Scope.GATEWAY: Right.PROBE,
    }
)
# A decision needs somebody who has made it.
_PERSONAL_RIGHTS = frozenset({Right.DECIDE, Right.ADMINISTER})


def scope_rights(scopes: Iterable[str]) -> frozenset[Right]:
    return frozenset().union(*(_SCOPE_RIGHTS.get(scope, ()) for scope in scopes))


def token_actor(token: ApiToken) -> Actor:
    """What the token may do now."""
    rights = scope_rights(token.scopes)
    if token.created_by is None:
        return permissions.EVERYBODY.within(rights - _PERSONAL_RIGHTS, token.team_id)
    return permissions.user_actor(token.created_by).within(rights, token.team_id)


def telemetry_teams(token: ApiToken) -> frozenset[int] | None:
    """The teams for whose endpoints the token may send telemetry; None is all endpoints."""
    maker = permissions.user_actor(token.created_by) if token.created_by else permissions.EVERYBODY
    needed = _RIGHT_TO_GIVE[Scope.TELEMETRY]
    return maker.within({needed}, token.team_id).teams(needed)


def offered_scopes(person: User | None, team_id: int | None = None) -> list[Scope]:
    """The scopes that somebody may give to a token, for everything or for one team.

    Nobody in particular is who runs a command on the server.
    """
    if person is None:
        return [scope for scope, needed in _RIGHT_TO_GIVE.items() if needed not in _PERSONAL_RIGHTS]
    actor = permissions.user_actor(person).within(Right, team_id)
    return [scope for scope, needed in _RIGHT_TO_GIVE.items() if actor.may_somewhere(needed)]
