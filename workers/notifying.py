"""Sends notifications from the outbox."""

from __future__ import annotations

import time

from celery import shared_task

from dashboard.notifications.services import deliveries, reminders, routing
from workers import shutdown
from workers.database_trouble import survive_database_errors

# Limits of one turn, so that sending does not delay probing.
MAX_PER_TURN = 20
SEND_FOR_S = 20.0


@shared_task
def notify() -> None:
    with survive_database_errors():
        send_notices()


def send_notices() -> None:
    """Route new notices, send reminders, and deliver what is due."""
    end = time.monotonic() + SEND_FOR_S
    routing.route_notices()
    reminders.send_reminders()
    deliveries.send_due_deliveries(
        MAX_PER_TURN, should_continue=lambda: not shutdown.is_requested() and time.monotonic() < end
    )
