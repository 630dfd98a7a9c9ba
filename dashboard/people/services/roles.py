"""Giving people roles and taking them: what somebody may do follows at their next request.

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
    """Give somebody a role, everywhere or in one team. Refuses oneself, and what they have."""
    person = lock_person(person)
    _refuse_own_role(person, by)
    if not person.is_active:
        raise Refused(_("This account is not active; reactivate it first."))
    if team and not Team.objects.select_for_update(no_key=True).filter(pk=team.pk).exists():
        raise Refused(_("Somebody has removed this team meanwhile."))
    return add_grant(person, role=role, team=team, by=by, reason=reason)


def add_grant(person: User, *, role: Role, team: Team | None, by: User, reason: str = "") -> Grant:
    """The grant itself, in the caller's transaction."""
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
    """Take a role away. Refuses one's own, and what somebody else took a moment ago."""
    person = lock_person(grant.person)
    _refuse_own_role(person, by)
    gone, _rows = Grant.objects.filter(pk=grant.pk).delete()
    if not gone:
        raise Refused(_("Somebody has taken this role away meanwhile."))
    record_taken_role(grant, by=by, reason=reason)


def record_taken_role(grant: Grant, *, by: User, reason: str = "") -> None:
    subject = f"person {grant.person.username}"
    audit.record(
        Action.GRANT_TAKEN, subject=subject, by=by, reason=reason, before=grant_json(grant)
    )


@transaction.atomic
def set_administrator(person: User, *, administrator: bool, by: User, reason: str = "") -> User:
    """Give or take the right to everything. Refuses oneself and the last administrator."""
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
    """The person, locked with all administrators: of two who remove each other, one waits."""
    both = User.objects.filter(is_superuser=True) | User.objects.filter(pk=person.pk)
    people = {each.pk: each for each in both.order_by("pk").select_for_update(no_key=True)}
    if person.pk not in people:
        raise Refused(_("Somebody has removed this person meanwhile."))
    return people[person.pk]


def refuse_last_administrator(person: User) -> None:
    """Refuse to lose the last who can sign in; who was invited and never came does not count."""
    awaited = Invitation.objects.open().values("person")
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    if person.is_superuser and person.is_active and not others.exclude(pk__in=awaited).exists():
        raise Refused(_("This is the last administrator: make somebody else one first."))


def grant_json(grant: Grant) -> dict[str, Any]:
    return {"role": str(grant.role), "team": grant.team.name if grant.team else None}


def _refuse_own_role(person: User, by: User) -> None:
    if person.pk == by.pk:
        raise Refused(_("You cannot change your own role; another administrator can."))
