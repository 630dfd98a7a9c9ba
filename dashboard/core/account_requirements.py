"""What an account must have before its owner's session works, on pages and in the API."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet

from dashboard.models import DrawnPassword, Grant


def must_change_password(person: User) -> bool:
    """Whether the person still has the printed password; checked for every request."""
    # Only administrators can have one, so nobody else pays for the query.
    generated = DrawnPassword.objects.filter(person=person.pk, stored=person.password)
    return person.is_superuser and generated.exists()


def lacks_required_factor(person: User) -> bool:
    """Whether REQUIRE_SECOND_FACTOR names a role of the person, and they have no factor."""
    if not settings.REQUIRE_SECOND_FACTOR:
        return False
    roles = set(Grant.objects.filter(person=person).values_list("role", flat=True))
    if person.is_superuser:
        roles.add("administrator")
    return bool(roles & settings.REQUIRE_SECOND_FACTOR) and not has_second_factor(person)


def has_second_factor(person: User) -> bool:
    return find_factors(person).exists()


def find_factors(person: User) -> QuerySet[Authenticator]:
    """The person's second factors. Recovery codes do not count: they replace a lost one."""
    recovery = Authenticator.Type.RECOVERY_CODES
    factors: QuerySet[Authenticator] = Authenticator.objects.filter(user=person)
    return factors.exclude(type=recovery).order_by("pk")
