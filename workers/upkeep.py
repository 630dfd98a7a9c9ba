"""What keeps the store small and its figures fresh."""

from __future__ import annotations

from datetime import timedelta

import structlog
from celery import shared_task

from dashboard.services import pulses, retention, rollups

log = structlog.get_logger()

RETENTION_EVERY = timedelta(hours=1)


@shared_task
def upkeep() -> None:
    """Roll up what came in; once an hour, by whoever comes first, drop what is too old."""
    rollups.roll_up()
    pulses.note(pulses.ROLL_UP)
    if pulses.take_turn(pulses.RETENTION, every=RETENTION_EVERY):
        dropped = retention.enforce()
        log.info("retention done", dropped=dropped)
