"""The rights of an API token: those of its scopes that its owner has now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from django.contrib.auth.models import User

from dashboard.core import permissions
from dashboard.core.permissions import Actor, Right
from dashboard.models import ApiToken
from dashboard.models.people import Scope

# READ everywhere: an operation must at least see the object that its URL names; operations that
# only read require the scope `read` itself. ADMINISTER comes with `read` (to look) and `decide` (to
# change): only administrators have the right, whatever the scope.
_SCOPE_RIGHTS: Mapping[str, frozenset[Right]] = MappingProxyType(
    {
        Scope.READ: frozenset({Right.READ, Right.ADMINISTER}),
        Scope.PROBE: frozenset({Right.READ, Right.PROBE}),
        Scope.OPERATE: frozenset({Right.READ, Right.PROBE, Right.OPERATE, Right.TIGHTEN}),
        Scope.DECIDE: frozenset({Right.READ, Right.TIGHTEN, Right.DECIDE, Right.ADMINISTER}),
    }
)
# The right that a person needs, in any team, to create a token with that scope.
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
# A decision needs a person who is accountable for it.
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
    return _teams_of_scope(token, Scope.TELEMETRY)


def gateway_teams(token: ApiToken) -> frozenset[int] | None:
    """The teams whose endpoints the token may use through the gateway; None is all endpoints."""
    return _teams_of_scope(token, Scope.GATEWAY)


def _teams_of_scope(token: ApiToken, scope: Scope) -> frozenset[int] | None:
    owner = permissions.user_actor(token.created_by) if token.created_by else permissions.EVERYBODY
    needed = _RIGHT_TO_GIVE[scope]
    return owner.within({needed}, token.team_id).teams(needed)


def offered_scopes(person: User | None, team_id: int | None = None) -> list[Scope]:
    """The scopes that a person may give to a token, for all endpoints or for one team.

    None stands for a command on the server.
    """
    if person is None:
        return [scope for scope, needed in _RIGHT_TO_GIVE.items() if needed not in _PERSONAL_RIGHTS]
    actor = permissions.user_actor(person).within(Right, team_id)
    return [scope for scope, needed in _RIGHT_TO_GIVE.items() if actor.may_somewhere(needed)]
