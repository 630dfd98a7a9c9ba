"""Labels and descriptions of roles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dashboard.models.people import Role

_MAX_NAMED = 3  # teams in a label
ADMINISTRATOR = "administrator"  # beside the values of Role; it is no grant
ROLE_DESCRIPTIONS: Mapping[str, Promise] = {
    Role.VIEWER.value: gettext_lazy("Reads every page of its endpoints."),
    Role.OPERATOR.value: gettext_lazy(
        "Registers and changes endpoints, asks for runs, switches modes, asks for the next stage."
    ),
    Role.APPROVER.value: gettext_lazy(
        "Decides on requests, releases and new normals; asks for runs and switches modes on."
    ),
    ADMINISTRATOR: gettext_lazy(
        "Everything, everywhere: also people, teams, API tokens, channels, tool rules and gates."
    ),
}


def roles_label(held: Iterable[tuple[Role, str | None]], *, administrator: bool) -> str:
    """All roles of a person in one line: "Operator everywhere; Approver in Search"."""
    if administrator:
        return _("Administrator")
    held = list(held)
    parts = [
        _role_label(role, [team for held_role, team in held if held_role == role]) for role in Role
    ]
    return "; ".join(part for part in parts if part) or _("No role")


def _role_label(role: Role, places: Sequence[str | None]) -> str:
    if not places:
        return ""
    teams = sorted((place for place in places if place is not None), key=str.casefold)
    if len(teams) < len(places):
        return _("{role} everywhere").format(role=role.label)
    return _("{role} in {teams}").format(role=role.label, teams=_join_teams(teams))


def _join_teams(teams: Sequence[str]) -> str:
    names, rest = ", ".join(teams[:_MAX_NAMED]), len(teams) - _MAX_NAMED
    if rest <= 0:
        return names
    text = ngettext("{teams} and {count} more", "{teams} and {count} more", rest)
    return text.format(teams=names, count=rest)
