"""Sends due deliveries, by the clock of the database and outside of transactions.

A lease protects a delivery while it is sent. If its worker dies, another one sends the same
message with the same id after the lease: a receiver may get it twice, and can detect that.
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
from dashboard.notifications.senders import apprise_sender, channel_urls, delivery_message, webhook
from dashboard.notifications.senders.delivery_message import SendResult
from dashboard.notifications.services import channels
from probes.secret import Secret

log = structlog.get_logger()

SEND_TIMEOUT = timedelta(seconds=10)
# Longer than a try, including the start of Apprise.
LEASE = timedelta(seconds=60)
MAX_TRIES = 12
FIRST_WAIT = timedelta(seconds=10)
MAX_WAIT = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class DeliveryLease:
    """The exclusive right to send a delivery until it expires."""

    delivery_id: int
    token: int
    tries: int
    now: datetime


def send_due_deliveries(
    limit: int = 20, *, should_continue: Callable[[], bool] = lambda: True
) -> int:
    """Send up to `limit` due deliveries, one after another, and return the number of tries."""
    _fail_lost_deliveries()
    count = 0
    while count < limit and should_continue() and (lease := _claim_delivery()):
        _store_result(lease, _send_delivery(lease))
        count += 1
    return count


def retry_delivery(delivery: Delivery) -> bool:
    """Retry a failed delivery with the same id. Returns False if it had not failed."""
    failed = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.FAILED, channel__removed_at=None
    )
    # One try is recorded, so that no further notice is added to it.
    return bool(failed.update(state=Delivery.State.WAITING, tries=1, next_try_at=Now()))


def quiet_channels() -> set[int]:
    """The ids of the channels that are in quiet hours."""
    return {pk for (pk,) in fetch_rows(f"SELECT c.id FROM dashboard_channel c WHERE {_QUIET}")}  # noqa: S608 -- constant


# Quiet hours over midnight have an end before their start.
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
        result = _send_message(delivery, url, lease.now)
    except Refused as exc:
        return SendResult(is_sent=False, error=exc.message, is_final=True)
    return replace(result, error=channel_urls.redact_url_secrets(result.error, url.reveal()))


def _send_message(delivery: Delivery, url: Secret, now: datetime) -> SendResult:
    content, rules = delivery_message.build_message(delivery), egress_grants.read_egress_rules()
    if delivery.channel.kind == Channel.Kind.APPRISE:
        return apprise_sender.send_apprise(url, content, within=SEND_TIMEOUT, rules=rules)
    signer = webhook.WebhookSigner(channels.signing_secrets(delivery.channel), now.astimezone(UTC))
    return webhook.send_webhook(url, content, signer=signer, within=SEND_TIMEOUT, rules=rules)


def _store_result(lease: DeliveryLease, result: SendResult) -> None:
    is_last = result.is_final or lease.tries >= MAX_TRIES
    state = Delivery.State.FAILED if is_last else Delivery.State.WAITING
    if result.is_sent:
        state = Delivery.State.SENT
    leased = Delivery.objects.filter(
        pk=lease.delivery_id, token=lease.token, state=Delivery.State.WAITING
    )
    is_stored = leased.update(
        state=state,
        last_status=result.status,
        last_error=result.error,
        sent_at=Now() if result.is_sent else None,
        leased_until=None,
        next_try_at=Now() + _retry_wait(lease.tries, result.retry_after_s),
    )
    facts = {"delivery": lease.delivery_id, "tries": lease.tries, "status": result.status}
    if not is_stored:
        log.warning("delivery lost to another worker", **facts)
    elif result.is_sent:
        log.info("delivered", **facts)
    else:
        log.warning("not delivered", error=result.error, final=is_last, **facts)
    if result.is_gone:
        channel = Channel.objects.get(deliveries=lease.delivery_id)
        channels.switch_off_channel(channel, result.error)


def _retry_wait(tries: int, retry_after_s: float | None) -> timedelta:
    backoff = FIRST_WAIT.total_seconds() * 2 ** (tries - 1)
    return min(timedelta(seconds=max(backoff, retry_after_s or 0)), MAX_WAIT)


def _fail_lost_deliveries() -> None:
    """Fail deliveries whose worker died during the last try."""
    is_unleased = Q(leased_until=None) | Q(leased_until__lte=Now())
    Delivery.objects.filter(
        is_unleased, state=Delivery.State.WAITING, tries__gte=MAX_TRIES, next_try_at__lte=Now()
    ).update(
        state=Delivery.State.FAILED,
        leased_until=None,
        last_error="The worker that tried it last did not come back.",
        token=F("token") + 1,
    )
