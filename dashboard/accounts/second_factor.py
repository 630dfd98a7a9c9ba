"""Second factors: who has which, who must have one, and how their secrets are stored."""

from __future__ import annotations

import base64

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from dashboard.core import encryption
from dashboard.models import Grant
from probes.secret import Secret

# The views that stay open to a person who must set up a second factor first.
OPEN_WITHOUT_FACTOR = frozenset(
    {"security", "security-app", "security-passkey-new", "security-codes", "confirm", "logout"}
    # A printed password is changed before that.
    | {"password"}
)
_BOUND_TO = b"second factor"


def find_factors(person: User) -> QuerySet[Authenticator]:
    """The person's second factors. Recovery codes do not count: they replace a lost one."""
    recovery = Authenticator.Type.RECOVERY_CODES
    factors: QuerySet[Authenticator] = Authenticator.objects.filter(user=person)
    return factors.exclude(type=recovery).order_by("pk")


def has_second_factor(person: User) -> bool:
    return find_factors(person).exists()


def lacks_required_factor(person: User | AnonymousUser) -> bool:
    """Whether REQUIRE_SECOND_FACTOR names a role of the person, and they have no factor."""
    if isinstance(person, AnonymousUser):
        return False
    roles = set(Grant.objects.filter(person=person).values_list("role", flat=True))
    if person.is_superuser:
        roles.add("administrator")
    return bool(roles & settings.REQUIRE_SECOND_FACTOR) and not has_second_factor(person)


def seal(text: str) -> str:
    """Encrypt a secret of a second factor with CREDENTIAL_KEYS, as its row stores it."""
    return base64.b64encode(encryption.encrypt_secret(Secret(text), _BOUND_TO)).decode()


def unseal(stored: str) -> str:
    return encryption.decrypt_secret(base64.b64decode(stored), _BOUND_TO).reveal()
