"""The people who may sign in: inviting, deactivating and reactivating them.

Administrators never know a password: a person who needs one gets a link and chooses it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.accounts.services import sessions
from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models import DrawnPassword, Invitation, RolloutRequest, Team
from dashboard.models.audit import Action
from dashboard.models.people import Role
from dashboard.people.services import invitations, roles
from dashboard.people.services.invitations import InvitationLink
from dashboard.trust import rollout_requests


@dataclass(frozen=True, slots=True)
class InvitedRights:
    """The rights of an invited person: administrator, or roles in one team or everywhere."""

    administrator: bool = False
    roles: Collection[Role] = ()
    team: Team | None = None  # None is everywhere


@transaction.atomic
def invite_person(
    *, username: str, email: str = "", rights: InvitedRights, by: User
) -> InvitationLink:
    """Create a person and a link for them. Refuses a used name, in any case, and no role."""
    if not rights.administrator and not rights.roles:
        raise Refused(_("Choose at least one role."))
    person = _create_user(username, email=email, administrator=rights.administrator)
    after = {"name": person.username, "administrator": rights.administrator}
    _record(Action.PERSON_ADDED, person, by=by, after=after)
    for role in [] if rights.administrator else rights.roles:
        roles.add_grant(person, role=role, team=rights.team, by=by)
    return invitations.create_link(person, by=by)


@transaction.atomic
def withdraw_invitation(person: User, *, by: User, reason: str = "") -> None:
    """Delete a person who never signed in; the name is free again. Refuses all others."""
    person = roles.lock_person(person)
    is_awaited = Invitation.objects.open().filter(person=person).exists()
    if not is_awaited or person.last_login is not None:
        raise Refused(_("They have signed in already; end their access instead."))
    _record(Action.PERSON_CHANGED, person, by=by, reason=reason, after={"invitation": "withdrawn"})
    person.delete()


@transaction.atomic
def create_password_link(person: User, *, by: User) -> InvitationLink:
    """Create a link to choose a new password; the old one and all sessions end now.

    Refuses the caller's own account and inactive ones.
    """
    person = roles.lock_person(person)
    if person.pk == by.pk:
        raise Refused(_("Change your own password under Settings, Password."))
    if not person.is_active:
        raise Refused(_("This account is not active; reactivate it instead."))
    _record(Action.PERSON_CHANGED, person, by=by, after={"password": "to be chosen by a link"})
    return _replace_password_by_link(person, by=by)


@transaction.atomic
def deactivate_person(person: User, *, by: User, reason: str = "") -> User:
    """End a person's access at once. Refuses the caller's own and the last administrator's.

    Their pending requests are withdrawn. Their password is removed: sessions are bound to it, so
    that none works again when the account is reactivated.
    """
    # Before people are locked: a decision on a request locks its endpoint first.
    _withdraw_requests(person, by=by)
    person = roles.lock_person(person)
    if person.pk == by.pk:
        raise Refused(_("You cannot deactivate yourself; another administrator can."))
    roles.refuse_last_administrator(person)
    person.is_active = False
    person.set_unusable_password()
    person.save(update_fields=["is_active", "password"])
    sessions.end_all_sessions(person, reason="the account was deactivated")
    invitations.revoke_links(person)
    states = {"before": {"active": True}, "after": {"active": False}}
    _record(Action.PERSON_CHANGED, person, by=by, reason=reason, **states)
    return person


@transaction.atomic
def reactivate_person(person: User, *, by: User) -> InvitationLink:
    """Reactivate an account with a link to choose a password; the roles are unchanged."""
    person = roles.lock_person(person)
    if person.is_active:
        raise Refused(_("This account is active."))
    person.is_active = True
    states = {"before": {"active": False}, "after": {"active": True}}
    _record(Action.PERSON_CHANGED, person, by=by, **states)
    return _replace_password_by_link(person, by=by)


@transaction.atomic
def create_first_administrator(*, password: str) -> User:
    """Create the administrator of a fresh installation, whose password is printed."""
    person = User.objects.create_superuser("admin", password=password)
    DrawnPassword.objects.create(person=person, stored=person.password)
    _record(Action.PERSON_ADDED, person, after={"name": person.username, "administrator": True})
    return person


def _withdraw_requests(person: User, *, by: User) -> None:
    pending = RolloutRequest.objects.pending().filter(requested_by=person)
    for request in pending.select_related("profile").order_by("profile__endpoint", "pk"):
        try:
            with transaction.atomic():
                rollout_requests.withdraw(request, by=by, reason="Whoever asked was deactivated.")
        except Refused:
            # It was decided on, or it expired, in this moment.
            continue


def _create_user(username: str, *, email: str, administrator: bool) -> User:
    text = _("There is already somebody called “{name}”.").format(name=username)
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(text)
    try:
        with transaction.atomic():
            return User.objects.create_user(username, email=email, is_superuser=administrator)
    except IntegrityError as exc:
        raise Refused(text) from exc


def _replace_password_by_link(person: User, *, by: User) -> InvitationLink:
    person.set_unusable_password()
    person.save(update_fields=["is_active", "password"])
    sessions.end_all_sessions(person, reason="a new password is to be chosen")
    return invitations.create_link(person, by=by)


def _record(action: Action, person: User, **more: Any) -> None:
    audit.record(action, subject=f"person {person.username}", **more)
