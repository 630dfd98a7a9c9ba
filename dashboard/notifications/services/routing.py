"""Routes notices from the outbox to a delivery per channel that accepts them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import transaction
from django.db.models.functions import Now

from dashboard.core.sql import set_idle_timeout
from dashboard.models import Channel, Delivery, Notice
from dashboard.notifications.senders.delivery_message import notice_severity
from dashboard.notifications.services import maintenance, outbox

MAX_NOTICES = 200
# Notices per message.
MAX_GROUPED = 100
URGENT_SEVERITY = 3
# An endpoint with more changes than this within CALM_PERIOD is reported as flapping, once. Further
# changes are dropped until CALM_PERIOD passes without one, except incidents of severity 3.
MAX_CHANGES = 4
CALM_PERIOD = timedelta(hours=24)
_CHANGES = (Notice.Kind.OPENED, Notice.Kind.RECOVERED)
# Pending decisions are sent at once, at any severity.
_DECISIONS = (Notice.Kind.DECISION_WANTED, Notice.Kind.ROLLOUT_REQUESTED)


def route_notices() -> int:
    """Create the deliveries of all queued notices and return the number of notices."""
    count = 0
    while routed := _route_batch():
        count += routed
    return count


@transaction.atomic
def _route_batch() -> int:
    set_idle_timeout()
    waiting = Notice.objects.filter(routed_at=None).select_related("endpoint", "incident")
    locked = waiting.select_for_update(skip_locked=True, of=("self",)).order_by("id")
    notices = list(locked[:MAX_NOTICES])
    if not notices:
        return 0
    # The lock keeps the notices of a channel in one grouped delivery.
    channels = list(Channel.objects.kept().filter(enabled=True).select_for_update().order_by("id"))
    for notice in notices:
        _route_notice(notice, channels)
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(routed_at=Now())
    return len(notices)


def _route_notice(notice: Notice, channels: Sequence[Channel]) -> None:
    reason = "flapping" if _is_flapping(notice) else ""
    if is_suppressed(notice.endpoint_id):
        reason = "maintenance"
    for channel in channels:
        if not accepts_notice(channel, notice):
            continue
        if reason:
            _drop_notice(channel, notice, reason)
        else:
            add_to_delivery(channel, notice)


def accepts_notice(channel: Channel, notice: Notice) -> bool:
    """The channel accepts the kind and severity. Decisions pass at any severity."""
    if channel.kinds and notice.kind not in channel.kinds:
        return False
    return notice.kind in _DECISIONS or notice_severity(notice) >= channel.min_severity


def is_suppressed(endpoint_id: int | None) -> bool:
    return endpoint_id is not None and maintenance.is_in_maintenance(endpoint_id)


def add_to_delivery(channel: Channel, notice: Notice) -> Delivery:
    """Add a notice to the grouped delivery of a channel, whose row must be locked."""
    is_urgent = notice_severity(notice) >= URGENT_SEVERITY or notice.kind in _DECISIONS
    delivery = Delivery.objects.gathering().filter(channel=channel).select_for_update().first()
    if delivery is None or delivery.notices.count() >= MAX_GROUPED:
        delivery = Delivery.objects.create(
            channel=channel,
            urgent=is_urgent,
            webhook_id=uuid.uuid4(),
            next_try_at=Now() if is_urgent else Now() + channel.group_for,
        )
    elif is_urgent:
        Delivery.objects.filter(pk=delivery.pk).update(urgent=True, next_try_at=Now())
    delivery.notices.add(notice)
    return delivery


def _drop_notice(channel: Channel, notice: Notice, reason: str) -> None:
    delivery = Delivery.objects.create(
        channel=channel,
        state=Delivery.State.DROPPED,
        last_error=reason,
        webhook_id=uuid.uuid4(),
    )
    delivery.notices.add(notice)


def _is_flapping(notice: Notice) -> bool:
    if notice.kind not in _CHANGES or notice.endpoint is None:
        return False
    if notice.kind == Notice.Kind.OPENED and notice_severity(notice) >= URGENT_SEVERITY:
        return False
    if _is_still_flapping(notice):
        return True
    changes = Notice.objects.filter(endpoint=notice.endpoint, kind__in=_CHANGES)
    count = changes.filter(at__gt=notice.at - CALM_PERIOD, at__lte=notice.at).count()
    if count <= MAX_CHANGES:
        return False
    body = {
        "title": f"{notice.endpoint.slug}: flapping, {count} changes within a day",
        "text": "It opens and recovers again and again. Neither is told any more "
        "until a day passes without a change.",
        "metric": notice.body.get("metric"),
        "severity": notice_severity(notice),
    }
    outbox.put_notice(
        Notice.Kind.FLAPPING,
        endpoint=notice.endpoint,
        incident=notice.incident,
        body=body,
        at=notice.at,
    )
    return True


def _is_still_flapping(notice: Notice) -> bool:
    """It was reported as flapping, without a calm period since."""
    earlier = Notice.objects.filter(endpoint=notice.endpoint, at__lte=notice.at)
    flapping = earlier.filter(kind=Notice.Kind.FLAPPING).order_by("-at").first()
    if flapping is None:
        return False
    changes = earlier.filter(kind__in=_CHANGES, at__gt=flapping.at).order_by("at")
    times: list[datetime] = [flapping.at, *changes.values_list("at", flat=True), notice.at]
    return all(second - first < CALM_PERIOD for first, second in pairwise(times))
