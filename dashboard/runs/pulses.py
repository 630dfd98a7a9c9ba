"""Noting that a recurring duty was done, and keeping rare ones rare."""

from __future__ import annotations

from datetime import timedelta

from dashboard.core.sql import execute

BEAT = "beat"  # a beat's message arrived and was carried out
LOOK_AROUND = "look around"
ROLL_UP = "roll up"
LIVE_WATCH = "live watch"
RETENTION = "retention"
AUDIT_HEAD = "audit head"


# Each of them one statement by itself: a worker that is cut off in the middle of a transaction
# would hold up everybody who wants to note the same duty.


def note(duty: str) -> None:
    """Remember that the duty was done just now."""
    execute(_NOTE, {"duty": duty})


def take_turn(duty: str, *, every: timedelta) -> bool:
    """Whether the duty falls to the caller: to one of all callers in each span of time."""
    return bool(execute(_TAKE, {"duty": duty, "every": every}))


_NOTE = """
INSERT INTO dashboard_pulse (duty, at) VALUES (%(duty)s, statement_timestamp())
ON CONFLICT (duty) DO UPDATE SET at = excluded.at
"""

_TAKE = """
INSERT INTO dashboard_pulse AS p (duty, at) VALUES (%(duty)s, statement_timestamp())
ON CONFLICT (duty) DO UPDATE SET at = excluded.at
WHERE p.at <= statement_timestamp() - %(every)s
"""
