"""Sessions, and of those who are signed in: whose, since when, last seen when and where."""

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

    # What pages and addresses call it: the key itself is as good as a password.
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
