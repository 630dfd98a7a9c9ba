"""Limits how often a user can try endpoints, so that pages cannot be used to flood one."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from dashboard.core.errors import Refused
from dashboard.core.sql import fetch_row

MAX_TRIES = 10
WINDOW = timedelta(minutes=1)


def count_try(person: User) -> None:
    """Count a try. Refuses one above the limit per minute."""
    if fetch_row(_COUNT, {"person": person.pk, "most": MAX_TRIES, "within": WINDOW}) is None:
        raise Refused(
            _(
                "{most} tries a minute are enough for one person. Wait a moment and try again."
            ).format(most=MAX_TRIES)
        )


# One statement, so that concurrent tries are all counted. It returns no row above the limit.
_COUNT = """
INSERT INTO dashboard_trycount AS seen (person_id, begun_at, used)
VALUES (%(person)s, statement_timestamp(), 1)
ON CONFLICT (person_id) DO UPDATE SET
    used = CASE WHEN seen.begun_at <= statement_timestamp() - %(within)s
        THEN 1 ELSE seen.used + 1 END,
    begun_at = CASE WHEN seen.begun_at <= statement_timestamp() - %(within)s
        THEN statement_timestamp() ELSE seen.begun_at END
WHERE seen.used < %(most)s OR seen.begun_at <= statement_timestamp() - %(within)s
RETURNING used
"""
