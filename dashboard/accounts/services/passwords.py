"""Setting a password: the one place that checks the rules."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.accounts.services import sessions
from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models.audit import Action


@transaction.atomic
def set_password(person: User, *, password: str, session_key: str | None = None) -> None:
    """Set the password and end all other sessions. Refuses one that breaks the rules."""
    try:
        validate_password(password, person)
    except ValidationError as exc:
        raise Refused(" ".join(exc.messages)) from exc
    person.set_password(password)
    person.save(update_fields=["password"])
    subject = f"person {person.get_username()}"
    audit.record(Action.PASSWORD_CHANGED, subject=subject, by=person)
    sessions.end_all_sessions(person, except_key=session_key, reason="the password was changed")
