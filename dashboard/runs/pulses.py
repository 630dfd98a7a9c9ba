"""Records when recurring duties ran, and limits how often a rare one runs."""

from __future__ import annotations

from datetime import timedelta

from dashboard.core.sql import execute

# Stored names: they must not change.
BEAT = "beat"  # recorded by Celery beat itself
SCHEDULE = "look around"
ROLL_UP = "roll up"
LIVE_WATCH = "live watch"
RETENTION = "retention"
AUDIT_HEAD = "audit head"


# Each is a single statement: a worker that loses its connection inside a transaction would block
# all others at the row of the same duty.


def record_pulse(duty: str) -> None:
    """Record that the duty ran now."""
    execute(_RECORD, {"duty": duty})


def claim_turn(duty: str, *, every: timedelta) -> bool:
    """Whether the caller should run the duty; True for one caller per interval."""
    return bool(execute(_CLAIM, {"duty": duty, "every": every}))


_RECORD = """
INSERT INTO dashboard_pulse (duty, at) VALUES (%(duty)s, statement_timestamp())
ON CONFLICT (duty) DO UPDATE SET at = excluded.at
"""

_CLAIM = """
INSERT INTO dashboard_pulse AS p (duty, at) VALUES (%(duty)s, statement_timestamp())
ON CONFLICT (duty) DO UPDATE SET at = excluded.at
WHERE p.at <= statement_timestamp() - %(every)s
"""
