"""Who is told of a notice: from the outbox to one delivery for each channel that wants it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from django.db import transaction
from django.db.models.functions import Now

from dashboard.core.sql import set_idle_timeout
from dashboard.models import Channel, Delivery, Notice
from dashboard.notifications.senders.message import notice_severity
from dashboard.notifications.services import maintenance, outbox

MAX_NOTICES = 200
# What one message takes in at most.
MAX_GROUPED = 100
URGENT_SEVERITY = 3
# An endpoint that opens and recovers more often than this within CALM is said to flap, once;
# after that neither is told until CALM has passed without either. The worst is always told.
MAX_CHANGES = 4
CALM_PERIOD = timedelta(hours=24)
_CHANGES = (Notice.Kind.OPENED, Notice.Kind.RECOVERED)
# Somebody has to decide: that is told whatever its severity, and at once.
_DECISIONS = (Notice.Kind.DECISION_WANTED, Notice.Kind.ROLLOUT_REQUESTED)


def route_notices() -> int:
    """Write the deliveries of all notices that wait for it; returns how many notices there were."""
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
    # The lock makes what gathers for a channel gather in one place.
    channels = list(Channel.objects.kept().filter(enabled=True).select_for_update().order_by("id"))
    for notice in notices:
        _route_notice(notice, channels)
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(routed_at=Now())
    return len(notices)


def _route_notice(notice: Notice, channels: Sequence[Channel]) -> None:
    reason = "flapping" if _is_flapping(notice) else ""
    if is_held_back(notice.endpoint_id):
        reason = "maintenance"
    for channel in channels:
        if not channel_wants(channel, notice):
            continue
        if reason:
            _drop_notice(channel, notice, reason)
        else:
            add_to_delivery(channel, notice)


def channel_wants(channel: Channel, notice: Notice) -> bool:
    """Whether the channel is told: by kind and severity; a wanted decision is always grave."""
    if channel.kinds and notice.kind not in channel.kinds:
        return False
    return notice.kind in _DECISIONS or notice_severity(notice) >= channel.min_severity


def is_held_back(endpoint_id: int | None) -> bool:
    """Whether the endpoint is in maintenance."""
    return endpoint_id is not None and maintenance.is_in_maintenance(endpoint_id)


def add_to_delivery(channel: Channel, notice: Notice) -> Delivery:
    """Have the channel told; joins what gathers for it already. Its row must be locked."""
    urgent = notice_severity(notice) >= URGENT_SEVERITY or notice.kind in _DECISIONS
    delivery = Delivery.objects.gathering().filter(channel=channel).select_for_update().first()
    if delivery is None or delivery.notices.count() >= MAX_GROUPED:
        delivery = Delivery.objects.create(
            channel=channel,
            urgent=urgent,
            webhook_id=uuid.uuid4(),
            next_try_at=Now() if urgent else Now() + channel.group_for,
        )
    elif urgent:
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
    if _still_flapping(notice):
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


def _still_flapping(notice: Notice) -> bool:
    """Whether it was said to flap, and no calm has come since."""
    mine = Notice.objects.filter(endpoint=notice.endpoint, at__lte=notice.at)
    flapping = mine.filter(kind=Notice.Kind.FLAPPING).order_by("-at").first()
    if flapping is None:
        return False
    later = mine.filter(kind__in=_CHANGES, at__gt=flapping.at).order_by("at")
    times: list[datetime] = [flapping.at, *later.values_list("at", flat=True), notice.at]
    return all(second - first < CALM_PERIOD for first, second in pairwise(times))
