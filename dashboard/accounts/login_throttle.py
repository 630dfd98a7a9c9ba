"""How fast passwords and codes may be guessed: freely a few times, then slower and slower.

Every view that checks a password, a code or a passkey calls `waits` before it looks at one, and
`failed` after a wrong one. A name from one address waits up to a quarter of an hour. A name from
anywhere waits two minutes at most, so that a stranger who guesses makes its owner wait, and never
shuts them out. During a wait tries are neither looked at nor counted: they cost no hash, and put
nothing off.
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
class Pace:
    """After `free` failures each further one doubles the wait, from `first` to `longest`."""

    free: int
    first: timedelta
    longest: timedelta

    def wait(self, failures: int) -> timedelta:
        if failures < self.free:
            return timedelta()
        doubled: int = min(failures - self.free, 20)  # far past the longest, and no overflow
        longer: timedelta = self.first * 2**doubled
        return min(longer, self.longest)


FROM_ONE_ADDRESS = Pace(5, timedelta(seconds=30), timedelta(minutes=15))
FROM_ANYWHERE = Pace(20, timedelta(seconds=15), timedelta(minutes=2))


def waits(name: str, address: str | None, *, anywhere: bool = True) -> timedelta:
    """How long whoever uses that name from that address has to wait now; nought if not at all."""
    now = timezone.now()
    here = Q(address=address or None)
    rows = LoginFailure.objects.filter(
        name=sign_in.key_of(name), failures__gt=0, last_at__gt=now - sign_in.REMEMBERED
    )
    found = rows.aggregate(
        here=Sum("failures", filter=here),
        here_at=Max("last_at", filter=here),
        all=Sum("failures"),
        all_at=Max("last_at"),
    )
    left = [_left(FROM_ONE_ADDRESS, found["here"], found["here_at"], now)]
    if anywhere:
        left.append(_left(FROM_ANYWHERE, found["all"], found["all_at"], now))
    return max(left)


def _left(pace: Pace, failures: int | None, last: datetime | None, now: datetime) -> timedelta:
    if last is None:
        return timedelta()
    return max(timedelta(), last + pace.wait(failures or 0) - now)


def waits_until(name: str) -> datetime | None:
    """Until when tries for that name are slowed down, from any address that sent some."""
    now = timezone.now()
    key = sign_in.key_of(name)
    addresses = LoginFailure.objects.filter(name=key).values_list("address", flat=True)
    longest = max((waits(name, each) for each in addresses[:50]), default=timedelta())
    return now + longest if longest else None


def failed(request: HttpRequest, name: str) -> timedelta:
    """Count a wrong password, code or passkey; return the wait that follows from it."""
    address = http.client_address(request)
    sign_in.failed(name=name, address=address)
    return waits(name, address)
