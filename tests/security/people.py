"""People who sign in by the form, for tests of the door."""

from __future__ import annotations

import time
from typing import Any

from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.db.models import Max
from django.test import Client
from typing_extensions import override

from dashboard.models.audit import Action, AuditEntry

PASSWORD = "correct horse battery"


class CountingHasher(MD5PasswordHasher):
    """Cheap, and counts how often a password was looked at."""

    count = 0

    @override
    def encode(self, password: str, salt: str) -> str:
        CountingHasher.count += 1
        return super().encode(password, salt)


def sign_in(client: Client, name: str = "bob", password: str = PASSWORD, **more: Any) -> Any:
    return client.post("/login/", {"username": name, "password": password, **more})


def is_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def with_app(person: User) -> str:
    """Give somebody an app and recovery codes; returns the app's secret."""
    secret: str = generate_totp_secret()
    TOTP.activate(person, secret)
    RecoveryCodes.activate(person)
    return secret


def code_of(secret: str, *, later: int = 0) -> str:
    """What the app shows now, or some half minutes later."""
    counter = int(time.time()) // 30 + later
    shown: str = totp.format_hotp_value(totp.hotp_value(secret, counter))
    return shown


class Log:
    """Entries cannot be removed, so those of tests before this one may still be there."""

    last = 0

    @classmethod
    def begin(cls) -> None:
        cls.last = AuditEntry.objects.aggregate(last=Max("id"))["last"] or 0


def told(action: Action) -> list[dict[str, Any]]:
    """What was written down since this test began."""
    entries = AuditEntry.objects.filter(action=action.value, id__gt=Log.last).order_by("id")
    return [entry.told for entry in entries]
