"""Links between people and the subjects of the OpenID Connect provider.

Only a link lets a subject sign in, never a name alone. A person links their account while signed
in; with OIDC_USERNAME_CLAIM, the first sign-in links the person whom that claim names.
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


def find_link(person: User) -> SocialAccount | None:
    """The person's link to the configured provider; links to another one do not count."""
    account = SocialAccount.objects.filter(user=person, provider=settings.OIDC_ISSUER).first()
    assert account is None or isinstance(account, SocialAccount)
    return account


@transaction.atomic
def link_account(person: User, subject: str) -> None:
    """Let the subject sign in as this person. Refuses a second link of either."""
    if find_link(person):
        raise Refused(_("Your account is linked already. Unlink it first."))
    try:
        with transaction.atomic():
            SocialAccount.objects.create(user=person, provider=settings.OIDC_ISSUER, uid=subject)
    except IntegrityError as exc:
        raise Refused(_("That account is linked to somebody else here.")) from exc
    _record(person, after={"linked to": settings.OIDC_ISSUER, "subject": subject})


@transaction.atomic
def unlink_account(person: User) -> None:
    """Remove the link. Refuses if the person has no password."""
    account = find_link(person)
    if account is None:
        return
    if not person.has_usable_password():
        raise Refused(_("You have no password here, so this is your only way in."))
    account.delete()
    _record(person, before={"linked to": settings.OIDC_ISSUER, "subject": account.uid})


@transaction.atomic
def find_or_create_person(subject: str, claims: Mapping[str, Any]) -> User:
    """The person who signs in with the subject, linked or created if needed. Refuses others."""
    account = SocialAccount.objects.filter(provider=settings.OIDC_ISSUER, uid=subject).first()
    if account is not None:
        return User.objects.get(pk=account.user_id)
    name = _claimed_username(claims)
    person = User.objects.filter(username=name).first() if name else None
    if person is None and name and settings.OIDC_CREATE_PEOPLE:
        person = _create_person(name)
    if person is None:
        raise Refused(_("Nobody here is linked to that account. Sign in with your password once."))
    link_account(person, subject)
    return person


def _claimed_username(claims: Mapping[str, Any]) -> str:
    """The username that OIDC_USERNAME_CLAIM vouches for; empty if it does not."""
    claim = settings.OIDC_USERNAME_CLAIM
    value = claims.get(claim) if claim else None
    if claim == "email" and claims.get("email_verified") is not True:
        return ""
    return User.normalize_username(value) if isinstance(value, str) else ""


def _create_person(name: str) -> User:
    """Create a person without a password and without grants: they have no rights yet."""
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


def _record(person: User, **changes: Any) -> None:
    subject = f"person {person.get_username()}"
    audit.record(Action.PERSON_CHANGED, subject=subject, by=person, **changes)
