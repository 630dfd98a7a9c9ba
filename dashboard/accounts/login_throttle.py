"""How fast passwords and codes may be guessed: freely a few times, then slower and slower.

django-axes keeps the failures and stops whoever must wait (AXES_HANDLER); the pace is ours. A name
from one address waits up to a quarter of an hour. A name from anywhere waits two minutes at most,
so that a stranger who guesses makes its owner wait, and never shuts them out. While one waits,
tries are neither looked at nor counted: they cost no hash, and put nothing off.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from axes.backends import AxesStandaloneBackend
from axes.handlers.database import AxesDatabaseHandler
from axes.models import AccessAttempt
from django.contrib.auth import user_login_failed
from django.db.models import Max, Q, Sum
from django.http import HttpRequest
from django.utils import timezone
from typing_extensions import override

from dashboard.accounts.services import sign_in
from dashboard.core import http


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
    here = Q(ip_address=address or None)
    rows = AccessAttempt.objects.filter(
        username=sign_in.key_of(name), attempt_time__gt=now - sign_in.REMEMBERED
    )
    found = rows.aggregate(
        here=Sum("failures_since_start", filter=here),
        here_at=Max("attempt_time", filter=here),
        all=Sum("failures_since_start"),
        all_at=Max("attempt_time"),
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
    addresses = AccessAttempt.objects.filter(username=key).values_list("ip_address", flat=True)
    longest = max((waits(name, each) for each in addresses[:50]), default=timedelta())
    return now + longest if longest else None


def failed(request: HttpRequest, name: str) -> None:
    """Count a code, key or password that was wrong, as a wrong password at the sign-in counts."""
    user_login_failed.send(sender=__name__, credentials={"username": name}, request=request)


class GuessingBackend(AxesStandaloneBackend):  # type: ignore[misc]
    """Asked before any password is looked at (AUTHENTICATION_BACKENDS)."""

    @override
    def authenticate(self, request: HttpRequest | None, *given: Any, **credentials: Any) -> None:
        # Without a request it is no visitor who asks, but a command or a test.
        if request is not None:
            super().authenticate(request, *given, **credentials)


class GuessingHandler(AxesDatabaseHandler):  # type: ignore[misc]
    """What axes asks: whether somebody must wait, and what to keep of a failure."""

    @override
    def get_failures(self, request: HttpRequest, credentials: Any = None) -> int:
        # AXES_FAILURE_LIMIT is one: whoever must wait has reached it.
        name = str((credentials or {}).get("username") or "")
        return int(waits(name, http.client_address(request)) > timedelta())

    @override
    def user_login_failed(
        self, sender: Any, credentials: Any, request: Any = None, **more: Any
    ) -> None:
        if request is None or request.axes_locked_out:
            return
        name = str(credentials.get("username") or "")
        sign_in.failed(name=name, address=http.client_address(request))
        request.axes_credentials = credentials
        request.axes_locked_out = self.is_locked(request, credentials)

    @override
    def user_logged_in(self, sender: Any, request: Any, user: Any, **more: Any) -> None:
        sign_in.forget_failures(user.get_username(), address=http.client_address(request))

    @override
    def user_logged_out(self, sender: Any, request: Any, user: Any, **more: Any) -> None:
        """Nothing: the audit log tells of it."""
