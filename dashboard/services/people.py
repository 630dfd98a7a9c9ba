"""The people who may sign in: adding them, ending their access, giving them a new password.

Whoever is an administrator may change settings; all others may look and act on endpoints.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.errors import Refused


@dataclass(frozen=True, slots=True)
class Admitted:
    """A person with a new password; its text exists only here and with whoever is told."""

    person: User
    password: str


def add(*, username: str, administrator: bool) -> Admitted:
    """Let somebody in. Refuses a name that is taken, in whatever case."""
    if User.objects.filter(username__iexact=username).exists():
        raise Refused(_taken(username))
    password = _draw()
    try:
        with transaction.atomic():
            person = User.objects.create_user(
                username, password=password, is_superuser=administrator
            )
    except IntegrityError as exc:
        raise Refused(_taken(username)) from exc
    return Admitted(person, password)


@transaction.atomic
def deactivate(person: User, *, by: User) -> User:
    """End somebody's access at once. Refuses oneself and the last administrator.

    The password goes too: sessions are bound to it, so that none comes back to life with the
    account.
    """
    person = _locked(person)
    if person.pk == by.pk:
        raise Refused(_("You cannot deactivate yourself; another administrator can."))
    _keep_one_administrator(person)
    person.is_active = False
    person.set_unusable_password()
    person.save(update_fields=["is_active", "password"])
    return person


@transaction.atomic
def reactivate(person: User) -> Admitted:
    """Let somebody in again, with a new password."""
    person = _locked(person)
    person.is_active = True
    return _with_new_password(person)


@transaction.atomic
def reset_password(person: User) -> Admitted:
    """Give somebody a new password; their sessions end. Refuses who is not active."""
    person = _locked(person)
    if not person.is_active:
        raise Refused(_("This account is not active; reactivate it instead."))
    return _with_new_password(person)


@transaction.atomic
def set_administrator(person: User, *, administrator: bool, by: User) -> User:
    """Give or take the right to change settings. Refuses oneself and the last administrator."""
    person = _locked(person)
    if person.pk == by.pk:
        raise Refused(_("You cannot change your own role; another administrator can."))
    if not administrator:
        _keep_one_administrator(person)
    person.is_superuser = administrator
    person.save(update_fields=["is_superuser"])
    return person


def change_password(person: User, *, password: str) -> None:
    """Give somebody the password that they chose."""
    person.set_password(password)
    person.save(update_fields=["password"])


def _locked(person: User) -> User:
    """The person, locked with all administrators: of two who remove each other, one waits."""
    both = User.objects.filter(is_superuser=True) | User.objects.filter(pk=person.pk)
    found = {each.pk: each for each in both.order_by("pk").select_for_update()}
    return found[person.pk]


def _keep_one_administrator(person: User) -> None:
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=person.pk)
    if person.is_superuser and person.is_active and not others.exists():
        raise Refused(_("This is the last administrator: make somebody else one first."))


def _with_new_password(person: User) -> Admitted:
    password = _draw()
    person.set_password(password)
    person.save(update_fields=["is_active", "password"])
    return Admitted(person, password)


def _draw() -> str:
    return secrets.token_urlsafe(15)


def _taken(username: str) -> str:
    return _("There is already somebody called “{name}”.").format(name=username)
