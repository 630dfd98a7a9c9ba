"""Throttling of wrong passwords and codes: a few tries are free, then each one doubles the wait.

Every view that checks a password, a code or a passkey calls `remaining_wait` before the check and
`record_failure` after a wrong one. A name from one address waits up to 15 minutes. A name from
any address waits two minutes at most, so that an attacker can delay the owner of an account but
not lock them out. Tries during a wait are neither checked nor counted: they cost no hash and do
not extend the wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Q, Sum
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts.services import sign_in
from dashboard.core import http
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


FROM_ONE_ADDRESS = Backoff(5, timedelta(seconds=30), timedelta(minutes=15))
FROM_ANYWHERE = Backoff(20, timedelta(seconds=15), timedelta(minutes=2))


def remaining_wait(name: str, address: str | None, *, anywhere: bool = True) -> timedelta:
    """How long sign-ins with that name from that address are refused; zero if they are not."""
    now = timezone.now()
    from_here = Q(address=address or None)
    rows = LoginFailure.objects.filter(
        name=sign_in.throttle_key(name), failures__gt=0, last_at__gt=now - sign_in.FAILURE_LIFETIME
    )
    totals = rows.aggregate(
        here=Sum("failures", filter=from_here),
        here_at=Max("last_at", filter=from_here),
        all=Sum("failures"),
        all_at=Max("last_at"),
    )
    waits = [_remaining(FROM_ONE_ADDRESS, totals["here"], totals["here_at"], now)]
    if anywhere:
        waits.append(_remaining(FROM_ANYWHERE, totals["all"], totals["all_at"], now))
    return max(waits)


def _remaining(
    backoff: Backoff, failures: int | None, last: datetime | None, now: datetime
) -> timedelta:
    if last is None:
        return timedelta()
    return max(timedelta(), last + backoff.wait(failures or 0) - now)


def throttled_until(name: str) -> datetime | None:
    """When sign-ins with that name are accepted again from every address that failed; or None."""
    now = timezone.now()
    key = sign_in.throttle_key(name)
    addresses = LoginFailure.objects.filter(name=key).values_list("address", flat=True)
    longest = max(
        (remaining_wait(name, address) for address in addresses[:50]), default=timedelta()
    )
    return now + longest if longest else None


def record_failure(request: HttpRequest, name: str) -> timedelta:
    """Count a wrong password, code or passkey; return the wait that it causes."""
    address = http.client_address(request)
    sign_in.record_failure(name=name, address=address)
    return remaining_wait(name, address)
