"""Signing in by the form, and the audit entries of a test."""

from __future__ import annotations

import time
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.db.models import Max
from django.test import Client
from typing_extensions import override

from dashboard.accounts import one_time_codes, second_factor
from dashboard.models.audit import Action, AuditEntry

PASSWORD = "correct horse battery"


class CountingHasher(MD5PasswordHasher):
    """Cheap, and counts how often a password was hashed."""

    count = 0

    @override
    def encode(self, password: str, salt: str) -> str:
        CountingHasher.count += 1
        return super().encode(password, salt)


def sign_in(client: Client, name: str = "bob", password: str = PASSWORD, **fields: Any) -> Any:
    return client.post("/login/", {"username": name, "password": password, **fields})


def is_signed_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def add_app(person: User) -> str:
    """Give a person an app and recovery codes; returns the app's secret."""
    secret = one_time_codes.new_app_secret()
    seed = {"seed": second_factor.seal(one_time_codes.new_recovery_seed()), "used_mask": 0}
    app = {"secret": second_factor.seal(secret)}
    Authenticator.objects.create(user=person, type=Authenticator.Type.TOTP, data=app)
    Authenticator.objects.create(user=person, type=Authenticator.Type.RECOVERY_CODES, data=seed)
    return secret


def app_code(secret: str, *, steps_later: int = 0) -> str:
    """The code that the app shows now, or some steps of 30 seconds later."""
    counter = int(time.time()) // 30 + steps_later
    return one_time_codes.app_code(secret, counter)


class AuditStart:
    """Where this test's audit entries begin: those of earlier tests cannot be removed."""

    last = 0

    @classmethod
    def begin(cls) -> None:
        cls.last = AuditEntry.objects.aggregate(last=Max("id"))["last"] or 0


def audit_entries(action: Action) -> list[dict[str, Any]]:
    """The audit entries of that action since this test began."""
    entries = AuditEntry.objects.filter(action=action.value, id__gt=AuditStart.last).order_by("id")
    return [entry.parsed_body for entry in entries]
