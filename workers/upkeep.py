"""Upkeep: rollups, live watch, policies, expiry, retention, and the head of the audit log."""

from __future__ import annotations

from datetime import timedelta

import structlog
from celery import shared_task

from dashboard.api import services as idempotency
from dashboard.audit import chain
from dashboard.runs import pulses, rollups
from dashboard.system import retention
from dashboard.trust import live_watch, policy_renewal, rollout_requests
from workers.database_trouble import survive_database_errors

log = structlog.get_logger()

RETENTION_EVERY = timedelta(hours=1)
AUDIT_HEAD_EVERY = timedelta(days=1)
# Enough for a large backlog, and few enough not to delay the other duties of the timer.
MAX_ROLLUP_TURNS = 20


@shared_task
def upkeep() -> None:
    with survive_database_errors():
        do_upkeep()


def do_upkeep() -> None:
    """Roll up observations and expire requests; drop old partitions once per hour.

    Logs the head of the audit log once per day.
    """
    for _ in range(MAX_ROLLUP_TURNS):
        if not rollups.roll_up():
            break
    pulses.record_pulse(pulses.ROLL_UP)
    if pulses.claim_turn(pulses.LIVE_WATCH, every=live_watch.BUCKET / 5):
        live_watch.follow_live()
    policy_renewal.renew_outdated()
    rollout_requests.expire_requests()
    if pulses.claim_turn(pulses.RETENTION, every=RETENTION_EVERY):
        dropped = retention.drop_expired_partitions()
        idempotency.delete_expired_answers()
        log.info("retention done", dropped=dropped)
    if pulses.claim_turn(pulses.AUDIT_HEAD, every=AUDIT_HEAD_EVERY):
        # Logs are stored elsewhere, so truncating the audit log later can be detected.
        log.info("audit head", head=str(chain.read_head()))
