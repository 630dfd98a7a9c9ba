"""Setting a password: the one place that checks the rules."""

from __future__ import annotations

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from dashboard.accounts.services import sessions
from dashboard.audit import services as audit
from dashboard.core.errors import Refused
from dashboard.models.audit import Action


def set_password(person: User, *, password: str, session_key: str | None = None) -> None:
    """Set the password and end all other sessions. Refuses one that breaks the rules."""
    store_password(person, hash_password(person, password), session_key=session_key)


def hash_password(person: User, password: str) -> str:
    """The hash of a new password; outside a transaction, which would hold its connection."""
    try:
        validate_password(password, person)
    except ValidationError as exc:
        raise Refused(" ".join(exc.messages)) from exc
    return make_password(password)


@transaction.atomic
def store_password(person: User, hashed: str, *, session_key: str | None = None) -> None:
    """Store what `hash_password` returned and end all other sessions."""
    person.password = hashed
    person.save(update_fields=["password"])
    subject = f"person {person.get_username()}"
    audit.record(Action.PASSWORD_CHANGED, subject=subject, by=person)
    sessions.end_all_sessions(person, except_key=session_key, reason="the password was changed")
