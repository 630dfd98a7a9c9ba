"""Where sessions are kept (SESSION_ENGINE): rows that know whose they are and when they end.

A session ends when nobody was there for SESSION_IDLE, and at the latest SESSION_AGE after signing
in. Both are one column that is written ahead, so that no request has to count.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone
from typing_extensions import override

from dashboard.models import PersonSession

# What the session itself carries, since its row is written anew with every change.
SINCE, PUBLIC_ID, ADDRESS, BROWSER = "since", "public_id", "address", "browser"
# A person who is here is noted so often, not with every request.
_NOTE_EVERY = timedelta(minutes=1)


class SessionStore(DatabaseStore):
    row: PersonSession | None = None

    @classmethod
    @override
    def get_model_class(cls) -> type[PersonSession]:
        return PersonSession

    @override
    def save(self, must_create: bool = False) -> None:
        data = self._get_session(no_load=must_create)  # type: ignore[attr-defined]
        if SESSION_KEY in data and SINCE not in data:
            self.begin()
        elif SINCE in data and must_create:
            self[PUBLIC_ID] = str(uuid.uuid4())  # the row under the old key is still there
        super().save(must_create)

    def begin(self, *, address: str = "", browser: str = "") -> None:
        """Count from now: somebody has just signed in."""
        self[SINCE] = timezone.now().isoformat()
        self[PUBLIC_ID] = str(uuid.uuid4())
        self[ADDRESS], self[BROWSER] = address[:45], browser[:80]

    @override
    def create_model_instance(self, data: Any) -> PersonSession:
        row = cast(PersonSession, super().create_model_instance(data))
        if SINCE in data:
            row.public_id = uuid.UUID(data[PUBLIC_ID])
            row.person_id = int(data[SESSION_KEY])
            row.since, row.seen_at = since_of(data), timezone.now()
            row.address, row.browser = data[ADDRESS], data[BROWSER]
        return row

    @override
    def get_expiry_date(self, **given: Any) -> datetime:
        if SINCE not in self:  # a stranger's; it holds a question to a passkey, or a message
            idle: timedelta = settings.SESSION_IDLE
            return timezone.now() + idle
        return end_of(since_of(self))

    def is_to_be_noted(self) -> bool:
        """Whether somebody signed in was last seen so long ago that it should be written down."""
        seen = self.row.seen_at if self.row else None
        return seen is not None and timezone.now() - seen > _NOTE_EVERY

    def _get_session_from_db(self) -> PersonSession | None:
        self.row = cast(PersonSession | None, super()._get_session_from_db())  # type: ignore[misc]
        return self.row


def since_of(data: Any) -> datetime:
    return datetime.fromisoformat(data[SINCE])


def end_of(since: datetime) -> datetime:
    """When a session ends that was used just now."""
    idle: timedelta = settings.SESSION_IDLE
    whole: timedelta = settings.SESSION_AGE
    return min(timezone.now() + idle, since + whole)
