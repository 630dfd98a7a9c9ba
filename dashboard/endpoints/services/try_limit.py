"""Counting how often a person tries endpoints, so that pages cannot be used to hammer one."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from dashboard.core.errors import Refused
from dashboard.core.sql import fetch_row

MOST = 10
WITHIN = timedelta(minutes=1)


def count(person: User) -> None:
    """Note one more try. Refuses the one that is too many for a minute."""
    if fetch_row(_COUNT, {"person": person.pk, "most": MOST, "within": WITHIN}) is None:
        raise Refused(
            _(
                "{most} tries a minute are enough for one person. Wait a moment and try again."
            ).format(most=MOST)
        )


# One statement, so that two tries at once in two processes are two. No row: it was too many.
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
