"""The session store (SESSION_ENGINE): rows with their person and their end.

A session ends after SESSION_IDLE without activity, and at the latest SESSION_AGE after sign-in.
Both limits are in one column that is written in advance, so that no request has to compute them.
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

# Values in the session data, since every change rewrites the row from them.
SINCE, PUBLIC_ID, ADDRESS, BROWSER = "since", "public_id", "address", "browser"
# Activity is recorded at this interval, not with every request.
_ACTIVITY_INTERVAL = timedelta(minutes=1)


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
        """Start the session's lifetime at a sign-in."""
        self[SINCE] = timezone.now().isoformat()
        self[PUBLIC_ID] = str(uuid.uuid4())
        self[ADDRESS], self[BROWSER] = address[:45], browser[:80]

    @override
    def create_model_instance(self, data: Any) -> PersonSession:
        row = cast(PersonSession, super().create_model_instance(data))
        if SINCE in data:
            row.public_id = uuid.UUID(data[PUBLIC_ID])
            row.person_id = int(data[SESSION_KEY])
            row.since, row.seen_at = signed_in_at(data), timezone.now()
            row.address, row.browser = data[ADDRESS], data[BROWSER]
        return row

    @override
    def get_expiry_date(self, **kwargs: Any) -> datetime:
        if SINCE not in self:  # not signed in; it holds a passkey challenge or a message
            idle: timedelta = settings.SESSION_IDLE
            return timezone.now() + idle
        return session_expiry(signed_in_at(self))

    def is_activity_due(self) -> bool:
        """Whether a person is signed in whose last recorded activity is older than the interval."""
        seen = self.row.seen_at if self.row else None
        return seen is not None and timezone.now() - seen > _ACTIVITY_INTERVAL

    def _get_session_from_db(self) -> PersonSession | None:
        self.row = cast(PersonSession | None, super()._get_session_from_db())  # type: ignore[misc]
        return self.row


def signed_in_at(data: Any) -> datetime:
    return datetime.fromisoformat(data[SINCE])


def session_expiry(since: datetime) -> datetime:
    """When a session ends that is active now."""
    idle: timedelta = settings.SESSION_IDLE
    age: timedelta = settings.SESSION_AGE
    return min(timezone.now() + idle, since + age)
