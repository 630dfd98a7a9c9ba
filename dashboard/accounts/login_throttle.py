"""Throttling of wrong passwords and codes: a few tries are free, then each one doubles the wait.

Every view that checks a password, a code or a passkey calls `remaining_wait` before the check and
`record_failure` after a wrong one. Failures count three times: for the name from that address, for
the name from anywhere, and for the address with any name. Tries during a wait are neither checked
nor counted: they cost no hash and do not extend the wait.

A browser in which the person has signed in before is counted by itself. Whatever strangers do with
the name or from the same address, they cannot lock its owner out of it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.db.models import Max, Q, QuerySet, Sum
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts import known_browsers
from dashboard.accounts.services import sign_in
from dashboard.core import http, rate_limits
from dashboard.models import LoginFailure


@dataclass(frozen=True, slots=True)
class Backoff:
    """After `free` failures each further one doubles the wait, from `first` to `longest`."""

    free: int
    first: timedelta
    longest: timedelta

    def wait(self, failures: int) -> timedelta:
        if failures < self.free:
            return timedelta()
        doublings: int = min(failures - self.free, 20)  # far past the longest, and no overflow
        wait: timedelta = self.first * 2**doublings
        return min(wait, self.longest)


class Limit(Enum):
    """Which failures count together."""

    NAME_AND_ADDRESS = "name and address"
    NAME = "name"
    ADDRESS = "address"


ALL_LIMITS = tuple(Limit)
# For people who have shown already who they are, by a session, a password or a provider: what
# others try from the same address does not delay them.
LIMITS_OF_NAME = (Limit.NAME_AND_ADDRESS, Limit.NAME)

# Also for a known browser and its person.
FROM_ONE_ADDRESS = Backoff(5, timedelta(seconds=30), timedelta(minutes=15))
FROM_ANYWHERE = Backoff(20, timedelta(seconds=15), timedelta(minutes=2))
# Many people can share an address, and one of them may be an attacker.
WITH_ANY_NAME = Backoff(30, timedelta(seconds=15), timedelta(minutes=5))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a try comes from: a known browser of that person, else an address."""

    address: str | None
    browser: str = ""


def remaining_wait(
    request: HttpRequest, name: str, *, limits: Collection[Limit] = ALL_LIMITS
) -> timedelta:
    """How long tries with that name are refused to this sender; zero if they are not."""
    return _longest_wait(name, _origin(request, name), limits)


def throttled_until(name: str) -> datetime | None:
    """When tries with that name are accepted again from everywhere that failed; or None."""
    rows = LoginFailure.objects.filter(name=sign_in.throttle_key(name))
    origins = [Origin(*row) for row in rows.values_list("address", "browser")[:50]]
    waits = (_longest_wait(name, origin, LIMITS_OF_NAME) for origin in origins)
    longest = max(waits, default=timedelta())
    return timezone.now() + longest if longest else None


def record_failure(
    request: HttpRequest, name: str, *, limits: Collection[Limit] = ALL_LIMITS
) -> timedelta:
    """Count a wrong password, code or passkey; return the wait that it causes."""
    origin = _origin(request, name)
    sign_in.record_failure(name=name, address=origin.address, browser=origin.browser)
    return _longest_wait(name, origin, limits)


def forget_failures(request: HttpRequest, name: str) -> None:
    """Reset the failures of this sender after a success; those of others still count."""
    origin = _origin(request, name)
    sign_in.forget_failures(name, address=origin.address, browser=origin.browser)


def _origin(request: HttpRequest, name: str) -> Origin:
    if browser := known_browsers.find_browser(request, sign_in.throttle_key(name)):
        return Origin(None, browser)
    return Origin(rate_limits.network_of(http.client_address(request)))


def _longest_wait(name: str, origin: Origin, limits: Collection[Limit]) -> timedelta:
    now = timezone.now()
    key = sign_in.throttle_key(name)
    recent = LoginFailure.objects.filter(
        failures__gt=0, last_at__gt=now - sign_in.FAILURE_LIFETIME, browser=origin.browser
    )
    if origin.browser:
        return _wait_of(recent.filter(name=key), FROM_ONE_ADDRESS, now)
    from_here = Q(address=origin.address)
    counted = {
        Limit.NAME_AND_ADDRESS: (recent.filter(from_here, name=key), FROM_ONE_ADDRESS),
        Limit.NAME: (recent.filter(name=key), FROM_ANYWHERE),
        Limit.ADDRESS: (recent.filter(from_here), WITH_ANY_NAME),
    }
    return max(_wait_of(*counted[limit], now) for limit in limits)


def _wait_of(rows: QuerySet[LoginFailure], backoff: Backoff, now: datetime) -> timedelta:
    totals = rows.aggregate(failures=Sum("failures"), last=Max("last_at"))
    if totals["last"] is None:
        return timedelta()
    ends_at: datetime = totals["last"] + backoff.wait(totals["failures"])
    return max(timedelta(), ends_at - now)
