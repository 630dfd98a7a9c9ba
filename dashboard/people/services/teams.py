"""Teams: creating, renaming and removing them, and moving endpoints between them."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.db.models.deletion import ProtectedError
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Team
from dashboard.models.audit import Action
from dashboard.people.services import roles

MAX_NAME_LENGTH = 60
_MAX_NAMED = 5  # endpoints that a refusal names


@transaction.atomic
def create_team(*, name: str, by: User) -> Team:
    """Create a team without endpoints and people. Refuses a used name, in any case."""
    team = Team(name=_clean_name(name))
    _save_team(team)
    audit.record(Action.TEAM_CHANGED, subject=_subject(team), by=by, after={"name": team.name})
    return team


@transaction.atomic
def rename_team(team: Team, *, name: str, by: User) -> Team:
    team = _lock_team(team, to_remove=False)
    before, after = team.name, _clean_name(name)
    if before == after:
        return team
    team.name = after
    _save_team(team, update_fields=["name"])
    audit.record(
        Action.TEAM_CHANGED,
        subject=_subject(team),
        by=by,
        before={"name": before},
        after={"name": after},
    )
    return team


@transaction.atomic
def remove_team(team: Team, *, by: User, reason: str = "") -> None:
    """Remove a team with the roles in it. Refuses while it has endpoints, and names them."""
    team = _lock_team(team, to_remove=True)
    _refuse_with_endpoints(team)
    for grant in team.grants.select_related("person", "team").order_by("pk"):
        roles.record_taken_role(grant, by=by, reason=reason)
    audit.record(
        Action.TEAM_CHANGED,
        subject=_subject(team),
        by=by,
        reason=reason,
        before={"name": team.name},
    )
    # Removed endpoints still refer to their team.
    team.endpoints.filter(removed_at__isnull=False).update(team=None)
    try:
        team.delete()
    except ProtectedError as exc:
        raise Refused(_in_use_message(team, exc.protected_objects)) from exc


@transaction.atomic
def move_endpoints(selected: Collection[Endpoint], *, team: Team | None, by: User) -> int:
    """Move endpoints into a team, or out of teams (None); returns how many have moved."""
    target = _lock_team(team, to_remove=False) if team else None
    candidates = Endpoint.objects.kept().filter(pk__in=[endpoint.pk for endpoint in selected])
    elsewhere = candidates.exclude(team=target) if target else candidates.exclude(team=None)
    moved = list(elsewhere.order_by("pk"))
    for endpoint in moved:
        endpoints.update(endpoint, key=None, forget_key=False, by=by, team=target)
    return len(moved)


def _lock_team(team: Team, *, to_remove: bool) -> Team:
    # A lock without the key lets other rows refer to the team, except while it is removed.
    locked = Team.objects.select_for_update(no_key=not to_remove).filter(pk=team.pk).first()
    if locked is None:
        raise Refused(_("Somebody has removed this team meanwhile."))
    return locked


def _refuse_with_endpoints(team: Team) -> None:
    slugs = list(team.endpoints.kept().order_by("slug").values_list("slug", flat=True))
    if not slugs:
        return
    if len(slugs) > _MAX_NAMED:
        names = _("{names} and {count} more").format(
            names=", ".join(slugs[:_MAX_NAMED]), count=len(slugs) - _MAX_NAMED
        )
    else:
        names = ", ".join(slugs)
    text = _("{team} still has endpoints: {names}. Move them out first.")
    raise Refused(text.format(team=team.name, names=names))


def _in_use_message(team: Team, rows: Collection[Model]) -> str:
    text = _("{team} is still in use by {things}.")
    things = ", ".join(sorted({str(row) for row in rows})[:_MAX_NAMED])
    return text.format(team=team.name, things=things)


def _clean_name(name: str) -> str:
    name = " ".join(name.replace("\0", "").split())
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        text = _("A team's name has 1 to {count} printable characters.")
        raise Refused(text.format(count=MAX_NAME_LENGTH))
    return name


def _save_team(team: Team, update_fields: list[str] | None = None) -> None:
    try:
        with transaction.atomic():
            team.save(update_fields=update_fields)
    except IntegrityError as exc:
        text = _("There is already a team called “{name}”.")
        raise Refused(text.format(name=team.name)) from exc


def _subject(team: Team) -> str:
    return f"team {team.name}"
