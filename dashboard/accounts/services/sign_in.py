"""What is kept of signing in: failures, for as long as they slow guessing down, and who came in."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from dashboard.accounts.services import sessions
from dashboard.audit import services as audit
from dashboard.models import LoginFailure
from dashboard.models.audit import Action

# For how long a failure counts.
REMEMBERED = timedelta(hours=24)
# Guessing must not fill the audit log: one entry a name and minute tells all there is to tell.
_TOLD_EVERY = timedelta(minutes=1)


def key_of(name: str) -> str:
    """The name under which failures count: no other spelling of it gives more tries."""
    return User.normalize_username(name).casefold()[:150]


@transaction.atomic
def failed(*, name: str, address: str) -> None:
    """Count a failure. What was typed, and by which browser, is not kept."""
    now = timezone.now()
    row, _created = LoginFailure.objects.get_or_create(
        name=key_of(name), address=address or None, defaults={"last_at": now}
    )
    person = User.objects.filter(username__iexact=name).first()
    count = F("failures") + 1 if row.last_at > now - REMEMBERED else 1
    changed: dict[str, Any] = {"failures": count, "last_at": now, "is_account": person is not None}
    if not _is_audited(row, person, since=now - _TOLD_EVERY):
        # All names that nobody has share one entry: what is typed there may be a password.
        subject = _subject(person) if person else "a name that nobody has"
        audit.record(Action.SIGN_IN_FAILED, subject=subject)
        changed["audited_at"] = now
    LoginFailure.objects.filter(pk=row.pk).update(**changed)


def forget_failures(name: str, *, address: str) -> None:
    """After a success, those from the same address. Those of others go on counting."""
    LoginFailure.objects.filter(name=key_of(name), address=address or None).update(failures=0)


@transaction.atomic
def unlock(person: User) -> None:
    """Let somebody try again at once, from wherever they are."""
    counted = LoginFailure.objects.filter(name=key_of(person.username), failures__gt=0)
    kept = bool(counted.update(failures=0))
    audit.record(Action.SIGN_IN_UNLOCKED, subject=_subject(person), before={"failures kept": kept})


@transaction.atomic
def succeeded(person: User, *, how: str, address: str, browser: str) -> None:
    """Write down that somebody signed in, and clear away what is over."""
    forget_failures(person.username, address=address)
    told = {"how": how, "browser": browser}
    audit.record(Action.SIGNED_IN, subject=_subject(person), by=person, after=told)
    LoginFailure.objects.filter(last_at__lt=timezone.now() - REMEMBERED).delete()
    sessions.clear_ended()


@transaction.atomic
def signed_out(person: User) -> None:
    audit.record(Action.SIGNED_OUT, subject=_subject(person), by=person)


def _is_audited(row: LoginFailure, person: User | None, *, since: datetime) -> bool:
    """Whether the audit log already has a failure of this account, or of any name without one."""
    recent = LoginFailure.objects.filter(audited_at__gt=since)
    alike = Q(name=row.name) if person else Q(is_account=False)
    return recent.filter(alike).exists()


def _subject(person: User) -> str:
    return f"person {person.get_username()}"
