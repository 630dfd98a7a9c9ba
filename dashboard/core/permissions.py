"""Rights: who may do what to which endpoints, and how a view says what it needs.

Every view declares its right by `needs`, `own` or `public`. `dashboard.middleware` refuses
the rest, so that nothing is open because somebody forgot.
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
    PROBE = "probe"  # ask for runs, and stop them
    OPERATE = "operate"  # endpoints, modes, notes, maintenance, asking for the next stage
    TIGHTEN = "tighten"  # switch modes on, step a stage back
    DECIDE = "decide"  # on requests, releases, new normals
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
# People, channels and gates are no team's: whoever is held to one team does not touch them.
_OF_ALL_TEAMS = frozenset({Right.ADMINISTER})
_MOST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Actor:
    """What somebody may do: everywhere, and beyond that in single teams."""

    everywhere: frozenset[Right] = _NONE
    by_team: Mapping[int, frozenset[Right]] = field(default_factory=dict)
    # The roles behind it, each with the name of its team, for showing them.
    held: tuple[tuple[Role, str | None], ...] = field(default=(), compare=False)

    def may(self, right: Right, team_id: int | None) -> bool:
        """Whether they may do it to an endpoint of that team; None is an endpoint without one."""
        if right in self.everywhere:
            return True
        return team_id is not None and right in self.by_team.get(team_id, _NONE)

    def may_somewhere(self, right: Right) -> bool:
        return right in self.everywhere or any(right in rights for rights in self.by_team.values())

    def teams(self, right: Right) -> frozenset[int] | None:
        """The teams where they may do it; None is everywhere, endpoints without a team too."""
        if right in self.everywhere:
            return None
        return frozenset(team for team, rights in self.by_team.items() if right in rights)

    def within(self, rights: Iterable[Right], team_id: int | None = None) -> Actor:
        """The same, at most with those rights and at most in that team: what a token may do."""
        kept = frozenset(rights)
        if team_id is None:
            by_team = {team: found & kept for team, found in self.by_team.items()}
            return Actor(self.everywhere & kept, by_team)
        inside = self.everywhere | self.by_team.get(team_id, _NONE)
        return Actor(_NONE, {team_id: inside & kept - _OF_ALL_TEAMS})


NOBODY = Actor()
EVERYBODY = Actor(_ALL)  # commands and schedules


def of_user(user: User | AnonymousUser) -> Actor:
    """What a person may do now."""
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
    """What whoever sent the request may do; asked once a request."""
    kept = getattr(request, "_actor", None)
    if kept is None:
        kept = of_user(cast(User, request.user))
        set_actor(request, kept)
    return cast(Actor, kept)


def set_actor(request: HttpRequest, actor: Actor) -> None:
    request._actor = actor  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Declared:
    """What a view needs, for reading and for changing; no right is: a session is enough."""

    safe: Right | None
    change: Right | None
    is_public: bool = False


View = TypeVar("View", bound=Callable[..., Any])


def needs(right: Right, *, change: Right | None = None) -> Callable[[View], View]:
    """Declare the right that a view needs; `change` where methods that change need another."""
    return _declare(Declared(right, change or right))


def own(view: View) -> View:
    """Declare that everybody may who is signed in: it concerns nobody but themselves."""
    return _declare(Declared(None, None))(view)


def public(view: View) -> View:
    """Declare that nobody needs to sign in for it."""
    return _declare(Declared(None, None, is_public=True))(login_not_required(view))


def _declare(declared: Declared) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        view.declared = declared  # type: ignore[attr-defined]
        return view

    return decorate


def declared_by(view: Callable[..., Any]) -> Declared | None:
    return getattr(view, "declared", None)


def check_view(request: HttpRequest, view: Callable[..., Any], named: Mapping[str, Any]) -> None:
    """Refuse what the view's declaration does not allow; a view without one refuses everybody."""
    declared = declared_by(view)
    if declared is None:
        raise PermissionDenied(f"{view.__module__}.{view.__name__} declares no right")
    if declared.is_public:
        return
    right = declared.safe if request.method in {"GET", "HEAD", "OPTIONS"} else declared.change
    if right is not None:
        check(actor_of(request), right, named)


def check(actor: Actor, right: Right, named: Mapping[str, Any]) -> None:
    """Refuse unless the actor has the right over what the address names.

    Whose endpoints somebody may not see, those do not exist for them: the answer is the same.
    """
    found = [team for name, value in named.items() for team in _teams(name, value)]
    if any(not actor.may(Right.READ, team) for team in found):
        raise Http404
    allowed = all(actor.may(right, team) for team in found)
    if not allowed or not actor.may_somewhere(right):
        raise PermissionDenied


def _teams(name: str, value: Any) -> list[int | None]:
    """The team of what a part of an address names; nothing where teams own nothing of that kind."""
    look_up = _OF_A_TEAM.get(name)
    if look_up is None:
        return []
    is_none = isinstance(value, int) and value > _MOST_ID
    found = [] if is_none else list(look_up(value))
    if not found:
        raise Http404
    return found


# What addresses name and a team owns. A part that is in neither list fails a test.
_OF_A_TEAM: Mapping[str, Callable[[Any], Iterable[int | None]]] = MappingProxyType(
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
OF_A_TEAM = frozenset(_OF_A_TEAM)
OF_NO_TEAM = frozenset(
    {"probe", "trial", "step", "metric", "note_id", "switch_id"}  # inside something that has one
    | {"code"}  # of the API's problems
    | {"entry_id"}  # looked up among what one may see
    | {"factor_id", "session_id"}  # of whoever asks
    | {"person_id", "prefix", "rule_id", "channel_id", "delivery_id", "team_id"}  # administrators'
    | {"grant_id", "token"}  # of a person; the text of an invitation
)
