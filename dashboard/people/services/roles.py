"""Giving people roles and removing them; a change holds from their next request on.

Administrators may do everything everywhere. All others have grants: a role everywhere or in a team.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models import Grant, Invitation, Team
from dashboard.models.audit import Action
from dashboard.models.people import Role


@transaction.atomic
def give_role(
    person: User, *, role: Role, team: Team | None = None, by: User, reason: str = ""
) -> Grant:
    """Give a person a role, everywhere or in one team. Refuses the caller, and a role they have."""
    person = lock_person(person)
    _refuse_own_role(person, by)
    if not person.is_active:
        raise Refused(_("This account is not active; reactivate it first."))
    if team and not Team.objects.select_for_update(no_key=True).filter(pk=team.pk).exists():
        raise Refused(_("Somebody has removed this team meanwhile."))
    return add_grant(person, role=role, team=team, by=by, reason=reason)


def add_grant(person: User, *, role: Role, team: Team | None, by: User, reason: str = "") -> Grant:
    """Create and record the grant, in the caller's transaction."""
    try:
        with transaction.atomic():
            grant = Grant.objects.create(person=person, role=role.value, team=team, given_by=by)
    except IntegrityError as exc:
        text = _("{name} has this role there already.")
        raise Refused(text.format(name=person.username)) from exc
    subject = f"person {person.username}"
    audit.record(Action.GRANT_GIVEN, subject=subject, by=by, reason=reason, after=grant_json(grant))
    return grant


@transaction.atomic
def take_role(grant: Grant, *, by: User, reason: str = "") -> None:
    """Remove a role. Refuses the caller's own, and one that was just removed."""
    person = lock_person(grant.person)
    _refuse_own_role(person, by)
    deleted, _rows = Grant.objects.filter(pk=grant.pk).delete()
    if not deleted:
        raise Refused(_("Somebody has taken this role away meanwhile."))
    record_taken_role(grant, by=by, reason=reason)


def record_taken_role(grant: Grant, *, by: User, reason: str = "") -> None:
    subject = f"person {grant.person.username}"
    audit.record(
        Action.GRANT_TAKEN, subject=subject, by=by, reason=reason, before=grant_json(grant)
    )


@transaction.atomic
def set_administrator(person: User, *, administrator: bool, by: User, reason: str = "") -> User:
    """Make a person an administrator, or not. Refuses the caller and the last administrator."""
    person = lock_person(person)
    _refuse_own_role(person, by)
    if person.is_superuser == administrator:
        return person
    if not administrator:
        refuse_last_administrator(person)
    person.is_superuser = administrator
    person.save(update_fields=["is_superuser"])
    action = Action.GRANT_GIVEN if administrator else Action.GRANT_TAKEN
    role = {"role": "administrator", "team": None}
    audit.record(
        action,
        subject=f"person {person.username}",
        by=by,
        reason=reason,
        before=None if administrator else role,
        after=role if administrator else None,
    )
    return person


def lock_person(person: User) -> User:
    """Lock the person with all administrators, so that two cannot remove each other."""
    locked = User.objects.filter(is_superuser=True) | User.objects.filter(pk=person.pk)
    people = {row.pk: row for row in locked.order_by("pk").select_for_update(no_key=True)}
    if person.pk not in people:
        raise Refused(_("Somebody has removed this person meanwhile."))
    return people[person.pk]


def refuse_last_administrator(person: User) -> None:
    """Refuse to remove the last administrator; open invitations do not count."""
    invited = Invitation.objects.open().values("person")
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    if person.is_superuser and person.is_active and not others.exclude(pk__in=invited).exists():
        raise Refused(_("This is the last administrator: make somebody else one first."))


def grant_json(grant: Grant) -> dict[str, Any]:
    return {"role": str(grant.role), "team": grant.team.name if grant.team else None}


def _refuse_own_role(person: User, by: User) -> None:
    if person.pk == by.pk:
        raise Refused(_("You cannot change your own role; another administrator can."))
