"""Records of sign-ins: failures, for as long as they throttle, and successes in the audit log."""

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
FAILURE_LIFETIME = timedelta(hours=24)
# Guessing must not fill the audit log: one entry per name per minute is enough.
_AUDIT_INTERVAL = timedelta(minutes=1)


def throttle_key(name: str) -> str:
    """The name under which failures count: other spellings of a name give no further tries."""
    return User.normalize_username(name).casefold()[:150]


@transaction.atomic
def record_failure(*, name: str, address: str | None, browser: str) -> None:
    """Count a failure. The typed text is not stored."""
    now = timezone.now()
    row, _created = LoginFailure.objects.get_or_create(
        name=throttle_key(name), address=address, browser=browser, defaults={"last_at": now}
    )
    person = User.objects.filter(username__iexact=name).first()
    count = F("failures") + 1 if row.last_at > now - FAILURE_LIFETIME else 1
    changes: dict[str, Any] = {"failures": count, "last_at": now, "is_account": person is not None}
    if not _is_audited(row, person, since=now - _AUDIT_INTERVAL):
        # All unknown names share one entry: the typed text may be a password.
        subject = _subject(person) if person else "a name that nobody has"
        audit.record(Action.SIGN_IN_FAILED, subject=subject)
        changes["audited_at"] = now
    LoginFailure.objects.filter(pk=row.pk).update(**changes)


def forget_failures(name: str, *, address: str | None, browser: str) -> None:
    """Reset the failures of this origin after a success; those of others still count."""
    rows = LoginFailure.objects.filter(name=throttle_key(name), address=address, browser=browser)
    rows.update(failures=0)


@transaction.atomic
def unlock(person: User) -> None:
    """Let the person try again at once, from any address."""
    failures = LoginFailure.objects.filter(name=throttle_key(person.username), failures__gt=0)
    had_failures = bool(failures.update(failures=0))
    audit.record(
        Action.SIGN_IN_UNLOCKED, subject=_subject(person), before={"failures kept": had_failures}
    )


@transaction.atomic
def record_sign_in(person: User, *, how: str, browser: str) -> None:
    """Record a sign-in, and delete expired failures and sessions."""
    details = {"how": how, "browser": browser}
    audit.record(Action.SIGNED_IN, subject=_subject(person), by=person, after=details)
    LoginFailure.objects.filter(last_at__lt=timezone.now() - FAILURE_LIFETIME).delete()
    sessions.delete_expired_sessions()


@transaction.atomic
def record_sign_out(person: User) -> None:
    audit.record(Action.SIGNED_OUT, subject=_subject(person), by=person)


def _is_audited(row: LoginFailure, person: User | None, *, since: datetime) -> bool:
    """Whether the audit log has a recent failure of this account, or of any unknown name."""
    recent = LoginFailure.objects.filter(audited_at__gt=since)
    same_name = Q(name=row.name) if person else Q(is_account=False)
    return recent.filter(same_name).exists()


def _subject(person: User) -> str:
    return f"person {person.get_username()}"
