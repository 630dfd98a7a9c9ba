"""Telling people: from the outbox to what leaves the house."""

from __future__ import annotations

import time

from celery import shared_task

from dashboard.notifications.services import deliveries, reminders, routing
from workers import shutdown

# A turn sends no more than this and begins nothing after so long, so that probing is not held up.
MOST_AT_ONCE = 20
SEND_FOR_S = 20.0


@shared_task
def notify() -> None:
    """Route what is new, remind of what is old, send what is due."""
    end = time.monotonic() + SEND_FOR_S
    routing.route_notices()
    reminders.send_reminders()
    deliveries.send_due_deliveries(
        MOST_AT_ONCE, should_continue=lambda: not shutdown.is_requested() and time.monotonic() < end
    )
