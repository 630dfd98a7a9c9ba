"""Sending what is due. Only the database's clock counts, and no transaction is open meanwhile.

A delivery is held by a lease while it is sent. If its worker dies, another one takes it up after
the lease, and sends the same message under the same id: a receiver may get it twice, and can tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog
from django.db.models import F, Q
from django.db.models.functions import Now

from dashboard.core import egress_grants
from dashboard.core.errors import Refused
from dashboard.core.sql import fetch_row, fetch_rows
from dashboard.models import Channel, Delivery
from dashboard.notifications.senders import apprise_sender, channel_urls, message, webhook
from dashboard.notifications.senders.message import SendResult
from dashboard.notifications.services import channels
from probes.secret import Secret

log = structlog.get_logger()

SEND_TIMEOUT = timedelta(seconds=10)
# Longer than a try can take, starting Apprise included.
LEASE = timedelta(seconds=60)
MAX_TRIES = 12
FIRST_WAIT = timedelta(seconds=10)
MAX_WAIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DeliveryLease:
    """The right to send one delivery, until it expires."""

    delivery_id: int
    token: int
    tries: int
    now: datetime


def send_due_deliveries(limit: int = 20, *, go_on: Callable[[], bool] = lambda: True) -> int:
    """Send what is due, one after another, at most `limit`; returns how many were tried."""
    _fail_lost_deliveries()
    count = 0
    while count < limit and go_on() and (lease := _claim_delivery()):
        _store_result(lease, _send_delivery(lease))
        count += 1
    return count


def retry_delivery(delivery: Delivery) -> bool:
    """Try a failed delivery again, under the same id; False where it had not failed."""
    failed = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.FAILED, channel__removed_at=None
    )
    # It was tried before, so that it takes in no further notice.
    return bool(failed.update(state=Delivery.State.WAITING, tries=1, next_try_at=Now()))


def quiet_channels() -> set[int]:
    """The channels whose quiet hours it is."""
    return {pk for (pk,) in fetch_rows(f"SELECT c.id FROM dashboard_channel c WHERE {_QUIET}")}  # noqa: S608 -- constant


# Over midnight the quiet hours end before they begin.
_QUIET = """c.quiet_from IS NOT NULL AND CASE
    WHEN c.quiet_from < c.quiet_until THEN
        (statement_timestamp() AT TIME ZONE c.time_zone)::time >= c.quiet_from
        AND (statement_timestamp() AT TIME ZONE c.time_zone)::time < c.quiet_until
    ELSE
        (statement_timestamp() AT TIME ZONE c.time_zone)::time >= c.quiet_from
        OR (statement_timestamp() AT TIME ZONE c.time_zone)::time < c.quiet_until
    END"""

_CLAIM = f"""
UPDATE dashboard_delivery d
SET token = d.token + 1, tries = d.tries + 1, leased_until = statement_timestamp() + %(lease)s
FROM (
    SELECT d.id
    FROM dashboard_delivery d JOIN dashboard_channel c ON c.id = d.channel_id
    WHERE d.state = 'waiting' AND d.next_try_at <= statement_timestamp()
        AND (d.leased_until IS NULL OR d.leased_until <= statement_timestamp())
        AND d.tries < %(most)s
        AND c.removed_at IS NULL AND (c.enabled OR d.is_test)
        AND (d.urgent OR NOT ({_QUIET}))
    ORDER BY d.next_try_at, d.id
    LIMIT 1
    FOR UPDATE OF d SKIP LOCKED
) due
WHERE d.id = due.id
RETURNING d.id, d.token, d.tries, statement_timestamp()
"""  # noqa: S608 -- constant


def _claim_delivery() -> DeliveryLease | None:
    row = fetch_row(_CLAIM, {"lease": LEASE, "most": MAX_TRIES})
    return DeliveryLease(*row) if row else None


def _send_delivery(lease: DeliveryLease) -> SendResult:
    delivery = Delivery.objects.select_related("channel").get(pk=lease.delivery_id)
    try:
        url = channels.channel_url(delivery.channel)
        outcome = _send_message(delivery, url, lease.now)
    except Refused as exc:
        return SendResult(is_sent=False, error=exc.message, is_final=True)
    return replace(outcome, error=channel_urls.redact_url_secrets(outcome.error, url.reveal()))


def _send_message(delivery: Delivery, url: Secret, now: datetime) -> SendResult:
    content, rules = message.build_message(delivery), egress_grants.read_egress_rules()
    if delivery.channel.kind == Channel.Kind.APPRISE:
        return apprise_sender.send_apprise(url, content, within=SEND_TIMEOUT, rules=rules)
    signer = webhook.WebhookSigner(channels.signing_secrets(delivery.channel), now.astimezone(UTC))
    return webhook.send_webhook(url, content, signer=signer, within=SEND_TIMEOUT, rules=rules)


def _store_result(lease: DeliveryLease, outcome: SendResult) -> None:
    is_last = outcome.is_final or lease.tries >= MAX_TRIES
    state = Delivery.State.FAILED if is_last else Delivery.State.WAITING
    if outcome.is_sent:
        state = Delivery.State.SENT
    mine = Delivery.objects.filter(
        pk=lease.delivery_id, token=lease.token, state=Delivery.State.WAITING
    )
    kept = mine.update(
        state=state,
        last_status=outcome.status,
        last_error=outcome.error,
        sent_at=Now() if outcome.is_sent else None,
        leased_until=None,
        next_try_at=Now() + _retry_wait(lease.tries, outcome.wait_s),
    )
    facts = {"delivery": lease.delivery_id, "tries": lease.tries, "status": outcome.status}
    if not kept:
        log.warning("delivery lost to another worker", **facts)
    elif outcome.is_sent:
        log.info("delivered", **facts)
    else:
        log.warning("not delivered", error=outcome.error, final=is_last, **facts)
    if outcome.is_gone:
        channel = Channel.objects.get(deliveries=lease.delivery_id)
        channels.switch_off_channel(channel, outcome.error)


def _retry_wait(tries: int, asked_s: float | None) -> timedelta:
    doubled = FIRST_WAIT.total_seconds() * 2 ** (tries - 1)
    return min(timedelta(seconds=max(doubled, asked_s or 0)), MAX_WAIT)


def _fail_lost_deliveries() -> None:
    """A last try whose worker never came back has failed."""
    over = Q(leased_until=None) | Q(leased_until__lte=Now())
    Delivery.objects.filter(
        over, state=Delivery.State.WAITING, tries__gte=MAX_TRIES, next_try_at__lte=Now()
    ).update(
        state=Delivery.State.FAILED,
        leased_until=None,
        last_error="The worker that tried it last did not come back.",
        token=F("token") + 1,
    )
