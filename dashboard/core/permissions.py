"""Rights: who may do what to which endpoints, and which right a view needs.

Every view declares its right by `needs`, `own` or `public`. `dashboard.middleware` refuses a view
without a declaration, so that no view is open by omission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar, cast

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from dashboard.models import Endpoint, Grant, Incident, MaintenanceWindow, RolloutRequest, Run
from dashboard.models.people import Role


class Right(StrEnum):
    READ = "read"
    PROBE = "probe"  # start and stop runs
    OPERATE = "operate"  # endpoints, modes, notes, maintenance, promotion requests
    TIGHTEN = "tighten"  # turn modes on, step a stage back
    DECIDE = "decide"  # promotion requests, releases, baseline resets
    ADMINISTER = "administer"  # people, tokens of others, channels, rules, gates


RIGHTS: Mapping[Role, frozenset[Right]] = MappingProxyType(
    {
        Role.VIEWER: frozenset({Right.READ}),
        Role.OPERATOR: frozenset({Right.READ, Right.PROBE, Right.OPERATE, Right.TIGHTEN}),
        Role.APPROVER: frozenset({Right.READ, Right.PROBE, Right.TIGHTEN, Right.DECIDE}),
    }
)
_ALL = frozenset(Right)
_NONE: frozenset[Right] = frozenset()
# People, channels and gates belong to no team, so an actor limited to one team cannot change them.
_GLOBAL_RIGHTS = frozenset({Right.ADMINISTER})
_MAX_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Actor:
    """What a person or token may do: everywhere, and in addition in single teams."""

    everywhere: frozenset[Right] = _NONE
    by_team: Mapping[int, frozenset[Right]] = field(default_factory=dict)
    # The roles behind the rights, each with the name of its team, for display.
    held: tuple[tuple[Role, str | None], ...] = field(default=(), compare=False)

    def may(self, right: Right, team_id: int | None) -> bool:
        """Whether the actor has the right over an endpoint of that team, or of none (None)."""
        if right in self.everywhere:
            return True
        return team_id is not None and right in self.by_team.get(team_id, _NONE)

    def may_somewhere(self, right: Right) -> bool:
        return right in self.everywhere or any(right in rights for rights in self.by_team.values())

    def teams(self, right: Right) -> frozenset[int] | None:
        """The teams where the actor has the right; None is everywhere, also without a team."""
        if right in self.everywhere:
            return None
        return frozenset(team for team, rights in self.by_team.items() if right in rights)

    def within(self, rights: Iterable[Right], team_id: int | None = None) -> Actor:
        """The actor limited to those rights and to that team: what a token may do."""
        limit = frozenset(rights)
        if team_id is None:
            by_team = {team: rights & limit for team, rights in self.by_team.items()}
            return Actor(self.everywhere & limit, by_team)
        inside = self.everywhere | self.by_team.get(team_id, _NONE)
        return Actor(_NONE, {team_id: inside & limit - _GLOBAL_RIGHTS})


NOBODY = Actor()
EVERYBODY = Actor(_ALL)  # commands and schedules


def user_actor(user: User | AnonymousUser) -> Actor:
    """What a person may do now, by the grants in the database."""
    if isinstance(user, AnonymousUser) or not user.is_active:
        return NOBODY
    if user.is_superuser:
        return EVERYBODY
    everywhere, by_team = _NONE, dict[int, frozenset[Right]]()
    held = []
    for grant in Grant.objects.filter(person=user).select_related("team"):
        held.append((Role(grant.role), grant.team.name if grant.team else None))
        rights = RIGHTS[Role(grant.role)]
        if grant.team_id is None:
            everywhere |= rights
        else:
            by_team[grant.team_id] = by_team.get(grant.team_id, _NONE) | rights
    return Actor(everywhere, by_team, tuple(held))


def actor_of(request: HttpRequest) -> Actor:
    """What the sender of the request may do; read once per request."""
    actor = getattr(request, "_actor", None)
    if actor is None:
        actor = user_actor(cast(User, request.user))
        set_actor(request, actor)
    return cast(Actor, actor)


def set_actor(request: HttpRequest, actor: Actor) -> None:
    request._actor = actor  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class DeclaredRights:
    """The rights a view needs for reading and for changing; None: a session is enough."""

    safe: Right | None
    change: Right | None
    is_public: bool = False


View = TypeVar("View", bound=Callable[..., Any])


def needs(right: Right, *, change: Right | None = None) -> Callable[[View], View]:
    """Declare the right that a view needs; `change` where unsafe methods need another."""
    return _declare(DeclaredRights(right, change or right))


def own(view: View) -> View:
    """Declare that every signed-in person may use the view: it concerns only themselves."""
    return _declare(DeclaredRights(None, None))(view)


def public(view: View) -> View:
    """Declare that the view needs no sign-in."""
    return _declare(DeclaredRights(None, None, is_public=True))(login_not_required(view))


def _declare(declared: DeclaredRights) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        view.declared = declared  # type: ignore[attr-defined]
        return view

    return decorate


def declared_rights(view: Callable[..., Any]) -> DeclaredRights | None:
    return getattr(view, "declared", None)


def check_view(request: HttpRequest, view: Callable[..., Any], named: Mapping[str, Any]) -> None:
    """Refuse what the view's declaration does not allow; without one, refuse every request."""
    declared = declared_rights(view)
    if declared is None:
        raise PermissionDenied(f"{view.__module__}.{view.__name__} declares no right")
    if declared.is_public:
        return
    right = declared.safe if request.method in {"GET", "HEAD", "OPTIONS"} else declared.change
    if right is not None:
        check_right(actor_of(request), right, named)


def check_right(actor: Actor, right: Right, named: Mapping[str, Any]) -> None:
    """Refuse unless the actor has the right over the objects that the URL names.

    What the actor may not read answers 404, the same as what does not exist.
    """
    teams = [team for name, value in named.items() for team in _owning_teams(name, value)]
    if any(not actor.may(Right.READ, team) for team in teams):
        raise Http404
    allowed = all(actor.may(right, team) for team in teams)
    if not allowed or not actor.may_somewhere(right):
        raise PermissionDenied


def _owning_teams(name: str, value: Any) -> list[int | None]:
    """The team of the object that a URL parameter names; empty for kinds that teams do not own."""
    look_up = _TEAM_LOOKUPS.get(name)
    if look_up is None:
        return []
    is_too_large = isinstance(value, int) and value > _MAX_ID
    teams = [] if is_too_large else list(look_up(value))
    if not teams:
        raise Http404
    return teams


# URL parameters of objects that a team owns. A parameter in neither list fails a test.
_TEAM_LOOKUPS: Mapping[str, Callable[[Any], Iterable[int | None]]] = MappingProxyType(
    {
        "slug": lambda slug: (
            Endpoint.objects.kept().filter(slug=slug).values_list("team_id", flat=True)
        ),
        "run_id": lambda pk: Run.objects.filter(pk=pk).values_list("endpoint__team_id", flat=True),
        "incident_id": lambda pk: Incident.objects.filter(pk=pk).values_list(
            "profile__endpoint__team_id", flat=True
        ),
        "window_id": lambda pk: MaintenanceWindow.objects.filter(pk=pk).values_list(
            "endpoint__team_id", flat=True
        ),
        "request_id": lambda pk: RolloutRequest.objects.filter(pk=pk).values_list(
            "profile__endpoint__team_id", flat=True
        ),
    }
)
TEAM_PARAMETERS = frozenset(_TEAM_LOOKUPS)
TEAMLESS_PARAMETERS = frozenset(
    {"probe", "trial", "step", "metric", "note_id", "switch_id"}  # inside an object that has one
    | {"code"}  # of the API's problems
    | {"entry_id"}  # filtered by what the actor may see
    | {"factor_id", "session_id"}  # of the sender
    | {
        "person_id",
        "prefix",
        "rule_id",
        "channel_id",
        "delivery_id",
        "team_id",
    }  # for administrators
    | {"grant_id", "token"}  # of a person; the text of an invitation
)
