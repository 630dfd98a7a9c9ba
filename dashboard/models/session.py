"""Sessions of people, and sign-ins that failed."""

from __future__ import annotations

import uuid
from importlib import import_module

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from typing_extensions import override


class PersonSession(AbstractBaseSession):
    """The session row itself: deleting it ends the session, so no second list is needed.

    `expire_date` is the earlier of the idle and the absolute end; what lies past it is not loaded.
    """

    # The id in pages and URLs: the key itself is as good as a password.
    public_id = models.UUIDField(default=uuid.uuid4, unique=True)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True)
    since = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)
    address = models.CharField(max_length=45, blank=True)
    browser = models.CharField(max_length=80, blank=True)

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        verbose_name = "session"

    @override
    def __str__(self) -> str:
        return f"session {self.public_id}"

    @classmethod
    @override
    def get_session_store_class(cls) -> type[SessionBase]:
        store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
        return store


class LoginFailure(models.Model):
    """Failures under one name from one origin: how many, and when the last one was."""

    # With or without an account. A sign-in deletes rows whose last failure is a day old.
    name = models.CharField(max_length=150)
    # The /64 of an IPv6 address. Null for a known browser, whose id stands in `browser`.
    address = models.GenericIPAddressField(null=True)
    browser = models.CharField(max_length=16, blank=True, default="", db_default="")
    failures = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()
    # The audit log has one entry per minute for each account, and one for all other names.
    is_account = models.BooleanField(default=False)
    audited_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # Also finds the failures of a name, at every sign-in.
            models.UniqueConstraint(
                fields=["name", "address", "browser"],
                nulls_distinct=False,
                name="login_failure_unique",
            ),
        ]
        indexes = [
            # The failures from an address with any name, at every sign-in.
            models.Index(
                fields=["address"], condition=models.Q(browser=""), name="login_failure_address"
            ),
            # Whether the audit log had a failure of a name without an account in the last minute.
            models.Index(
                fields=["audited_at"],
                condition=models.Q(audited_at__isnull=False, is_account=False),
                name="login_failure_audited",
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.failures} failures from {self.browser or self.address}"
