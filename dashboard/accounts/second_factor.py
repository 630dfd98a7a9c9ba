"""Second factors: who has which, who must have one, and how their secrets are kept."""

from __future__ import annotations

import base64

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from dashboard.core import encryption
from dashboard.models import Grant
from probes.secret import Secret

# What somebody may open who must set up a second factor first.
OPEN_WITHOUT = frozenset(
    {"security", "security-app", "security-passkey-new", "security-codes", "confirm", "logout"}
    # A password that was printed is changed before that.
    | {"password"}
)
_BOUND_TO = b"second factor"


def of(person: User) -> QuerySet[Authenticator]:
    """Their second factors. Recovery codes are none: they stand in for a lost one."""
    recovery = Authenticator.Type.RECOVERY_CODES
    found: QuerySet[Authenticator] = Authenticator.objects.filter(user=person)
    return found.exclude(type=recovery).order_by("pk")


def has_any(person: User) -> bool:
    return of(person).exists()


def is_owed(person: User | AnonymousUser) -> bool:
    """Whether somebody must have a second factor by REQUIRE_SECOND_FACTOR, and has none."""
    if isinstance(person, AnonymousUser):
        return False
    roles = set(Grant.objects.filter(person=person).values_list("role", flat=True))
    if person.is_superuser:
        roles.add("administrator")
    return bool(roles & settings.REQUIRE_SECOND_FACTOR) and not has_any(person)


def seal(text: str) -> str:
    """A secret of a second factor as its row holds it, sealed with CREDENTIAL_KEYS."""
    return base64.b64encode(encryption.encrypt_secret(Secret(text), _BOUND_TO)).decode()


def unseal(stored: str) -> str:
    return encryption.decrypt_secret(base64.b64decode(stored), _BOUND_TO).reveal()
