"""The sessions of people: noting that somebody is here, and ending sessions."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from dashboard.accounts.session_store import end_of
from dashboard.audit import services as audit
from dashboard.models import PersonSession
from dashboard.models.audit import Action


def note(session: PersonSession, *, address: str, browser: str) -> None:
    """Write down that its person was here just now."""
    assert session.since is not None
    PersonSession.objects.filter(pk=session.pk).update(
        seen_at=timezone.now(),
        expire_date=end_of(session.since),
        address=address[:45],
        browser=browser[:80],
    )


@transaction.atomic
def end(person: User, public_id: uuid.UUID) -> bool:
    """End one session of somebody; False where there is none."""
    found = PersonSession.objects.filter(person=person, public_id=public_id)
    browser = found.values_list("browser", flat=True).first()
    if browser is None:
        return False
    found.delete()
    audit.record(
        Action.SIGNED_OUT,
        subject=f"person {person.get_username()}",
        reason="one session was ended from the list",
        before={"browser": browser},
    )
    return True


@transaction.atomic
def end_all(person: User, *, but: str | None = None, reason: str) -> int:
    """End all sessions of somebody, but one by its key; returns how many lived."""
    found = PersonSession.objects.filter(person=person).exclude(session_key=but or "")
    living = found.filter(expire_date__gt=timezone.now()).count()
    found.delete()
    if living:
        audit.record(
            Action.SIGNED_OUT,
            subject=f"person {person.get_username()}",
            reason=reason,
            before={"sessions": living},
        )
    return living


def clear_ended() -> None:
    """Forget sessions that are over."""
    PersonSession.objects.filter(expire_date__lt=timezone.now()).delete()
