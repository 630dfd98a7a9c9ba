"""Who somebody is elsewhere: which subject of the OpenID Connect provider is which person.

Only a link opens the door, never a name alone. A person makes their own while signed in; where
OIDC_USERNAME_CLAIM is set, the first sign-in makes it for the person whom that claim names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models.audit import Action


def link_of(person: User) -> SocialAccount | None:
    """Their link to the provider that is set up now: another one's subjects mean nothing here."""
    found = SocialAccount.objects.filter(user=person, provider=settings.OIDC_ISSUER).first()
    assert found is None or isinstance(found, SocialAccount)
    return found


@transaction.atomic
def link(person: User, subject: str) -> None:
    """Let that subject sign in as this person. Refuses a second link of either."""
    if link_of(person):
        raise Refused(_("Your account is linked already. Unlink it first."))
    try:
        with transaction.atomic():
            SocialAccount.objects.create(user=person, provider=settings.OIDC_ISSUER, uid=subject)
    except IntegrityError as exc:
        raise Refused(_("That account is linked to somebody else here.")) from exc
    _record(person, after={"linked to": settings.OIDC_ISSUER, "subject": subject})


@transaction.atomic
def unlink(person: User) -> None:
    """Take the link away. Refuses where it is the only way in."""
    found = link_of(person)
    if found is None:
        return
    if not person.has_usable_password():
        raise Refused(_("You have no password here, so this is your only way in."))
    found.delete()
    _record(person, before={"linked to": settings.OIDC_ISSUER, "subject": found.uid})


@transaction.atomic
def person_for(subject: str, claims: Mapping[str, Any]) -> User:
    """Whoever signs in with that subject. Refuses strangers."""
    account = SocialAccount.objects.filter(provider=settings.OIDC_ISSUER, uid=subject).first()
    if account is not None:
        return User.objects.get(pk=account.user_id)
    name = _named(claims)
    person = User.objects.filter(username=name).first() if name else None
    if person is None and name and settings.OIDC_CREATE_PEOPLE:
        person = _add(name)
    if person is None:
        raise Refused(_("Nobody here is linked to that account. Sign in with your password once."))
    link(person, subject)
    return person


def _named(claims: Mapping[str, Any]) -> str:
    """The name of a person here that the provider vouches for; empty where it does not."""
    claim = settings.OIDC_USERNAME_CLAIM
    value = claims.get(claim) if claim else None
    if claim == "email" and claims.get("email_verified") is not True:
        return ""
    return User.normalize_username(value) if isinstance(value, str) else ""


def _add(name: str) -> User:
    """A person without a password and without any grant: they may do nothing yet."""
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError as exc:
        raise Refused(_("The provider calls you by a name that cannot be used here.")) from exc
    if len(name) > 150 or User.objects.filter(username__iexact=name).exists():
        raise Refused(_("The provider calls you by a name that cannot be used here."))
    person = User.objects.create_user(name)
    audit.record(
        Action.PERSON_ADDED,
        subject=f"person {name}",
        by=person,
        reason="first sign-in by OpenID Connect",
        after={"username": name, "administrator": False},
    )
    return person


def _record(person: User, **what: Any) -> None:
    subject = f"person {person.get_username()}"
    audit.record(Action.PERSON_CHANGED, subject=subject, by=person, **what)
