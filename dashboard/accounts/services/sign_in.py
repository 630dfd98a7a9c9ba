"""What is kept of signing in: failures, for as long as they slow guessing down, and who came in."""

from __future__ import annotations

from datetime import timedelta

from axes.models import AccessAttempt, AccessFailureLog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from dashboard.accounts.services import sessions
from dashboard.audit import services as audit
from dashboard.models.audit import Action

# For how long a failure counts.
REMEMBERED = timedelta(hours=24)
# Guessing must not fill the audit log: one entry a name and minute tells all there is to tell.
_TOLD_EVERY = timedelta(minutes=1)
# All names that nobody has share one entry: what is typed there may be a password.
_UNKNOWN = "?"


def key_of(name: str) -> str:
    """The name under which failures count: no other spelling of it gives more tries."""
    return User.normalize_username(name).casefold()[:150]


@transaction.atomic
def failed(*, name: str, address: str) -> None:
    """Count a failure. What was typed, and by which browser, is not kept."""
    now = timezone.now()
    kept = {"failures_since_start": 0, "get_data": "", "post_data": ""}
    row, _created = AccessAttempt.objects.get_or_create(
        username=key_of(name), ip_address=address or None, user_agent="", defaults=kept
    )
    again = row.attempt_time > now - REMEMBERED
    count = F("failures_since_start") + 1 if again else 1
    AccessAttempt.objects.filter(pk=row.pk).update(failures_since_start=count, attempt_time=now)
    _tell(User.objects.filter(username__iexact=name).first())


def forget_failures(name: str, *, address: str) -> None:
    """After a success, those from the same address. Those of others go on counting."""
    AccessAttempt.objects.filter(username=key_of(name), ip_address=address or None).delete()


@transaction.atomic
def unlock(person: User) -> None:
    """Let somebody try again at once, from wherever they are."""
    count, _each = AccessAttempt.objects.filter(username=key_of(person.username)).delete()
    audit.record(
        Action.SIGN_IN_UNLOCKED, subject=_subject(person), before={"failures kept": bool(count)}
    )


@transaction.atomic
def succeeded(person: User, *, how: str, browser: str) -> None:
    """Write down that somebody signed in, and clear away what is over."""
    told = {"how": how, "browser": browser}
    audit.record(Action.SIGNED_IN, subject=_subject(person), by=person, after=told)
    old = timezone.now() - REMEMBERED
    AccessAttempt.objects.filter(attempt_time__lt=old).delete()
    AccessFailureLog.objects.filter(attempt_time__lt=old).delete()
    sessions.clear_ended()


@transaction.atomic
def signed_out(person: User) -> None:
    audit.record(Action.SIGNED_OUT, subject=_subject(person), by=person)


def _tell(person: User | None) -> None:
    name = key_of(person.username) if person else _UNKNOWN
    since = timezone.now() - _TOLD_EVERY
    if AccessFailureLog.objects.filter(username=name, attempt_time__gt=since).exists():
        return
    AccessFailureLog.objects.create(username=name)
    subject = _subject(person) if person else "a name that nobody has"
    audit.record(Action.SIGN_IN_FAILED, subject=subject)


def _subject(person: User) -> str:
    return f"person {person.get_username()}"
