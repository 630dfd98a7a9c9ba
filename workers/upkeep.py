"""What keeps the store small and its figures fresh."""

from __future__ import annotations

from datetime import timedelta

import structlog
from celery import shared_task

from dashboard.api import services as idempotency
from dashboard.audit import chain
from dashboard.runs import pulses, rollups
from dashboard.system import retention
from dashboard.trust import live_watch, policy_renewal, rollout_requests

log = structlog.get_logger()

RETENTION_EVERY = timedelta(hours=1)
AUDIT_HEAD_EVERY = timedelta(days=1)
# Enough for a great heap, and not so many that the timer's other duties wait for ever.
MOST_TURNS = 20


@shared_task
def upkeep() -> None:
    """Roll up what came in, end what has run out; once an hour drop what is too old.

    Once a day tell the log where the audit log stands.
    """
    for _ in range(MOST_TURNS):
        if not rollups.roll_up():
            break
    pulses.note(pulses.ROLL_UP)
    if pulses.take_turn(pulses.LIVE_WATCH, every=live_watch.BUCKET / 5):
        live_watch.follow_live()
    policy_renewal.renew_outdated()
    rollout_requests.expire()
    if pulses.take_turn(pulses.RETENTION, every=RETENTION_EVERY):
        dropped = retention.drop_expired_partitions()
        idempotency.delete_expired_answers()
        log.info("retention done", dropped=dropped)
    if pulses.take_turn(pulses.AUDIT_HEAD, every=AUDIT_HEAD_EVERY):
        # Logs are kept elsewhere: who cuts the audit log off there leaves this behind.
        log.info("audit head", head=str(chain.read_head()))
