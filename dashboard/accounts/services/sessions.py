"""Sessions of people: recording activity, and ending sessions."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.session_store import session_expiry
from dashboard.audit import services as audit
from dashboard.models import PersonSession
from dashboard.models.audit import Action


def record_activity(session: PersonSession, *, address: str, browser: str) -> None:
    """Record that the person was active now, and extend the session."""
    assert session.since is not None
    PersonSession.objects.filter(pk=session.pk).update(
        seen_at=timezone.now(),
        expire_date=session_expiry(session.since),
        address=address[:45],
        browser=browser[:80],
    )


@transaction.atomic
def end_session(person: User, public_id: uuid.UUID) -> bool:
    """End one session of the person; False if there is no such session."""
    sessions = PersonSession.objects.filter(person=person, public_id=public_id)
    browser = sessions.values_list("browser", flat=True).first()
    if browser is None:
        return False
    sessions.delete()
    audit.record(
        Action.SIGNED_OUT,
        subject=f"person {person.get_username()}",
        reason="one session was ended from the list",
        before={"browser": browser},
    )
    return True


@transaction.atomic
def end_all_sessions(person: User, *, except_key: str | None = None, reason: str) -> int:
    """End all sessions of the person except that key; returns how many had not expired."""
    sessions = PersonSession.objects.filter(person=person).exclude(session_key=except_key or "")
    live = sessions.filter(expire_date__gt=timezone.now()).count()
    sessions.delete()
    if live:
        audit.record(
            Action.SIGNED_OUT,
            subject=f"person {person.get_username()}",
            reason=reason,
            before={"sessions": live},
        )
    return live


def delete_expired_sessions() -> None:
    PersonSession.objects.filter(expire_date__lt=timezone.now()).delete()
