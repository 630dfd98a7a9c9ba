"""Channels, incidents and notices for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.models import Channel, Delivery, Endpoint, Incident, Notice
from dashboard.notifications.services import channels, deliveries, outbox, routing
from dashboard.notifications.services.channels import ChannelSecret

NO_GROUPING = {"group_for": timedelta()}


def make_webhook(url: str, *, name: str = "ops", **preferences: Any) -> ChannelSecret:
    """A webhook without grouping, unless given."""
    return channels.create_channel(
        name=name, kind="webhook", url=url, by=None, preferences={**NO_GROUPING, **preferences}
    )


def make_incident(endpoint: Endpoint, **over: Any) -> Incident:
    fields: dict[str, Any] = {
        "metric": "parse_success",
        "severity": 2,
        "worst": 2,
        "opened_at": timezone.now(),
        "opened_by": Incident.objects.count() + 1,
        "figures": {"trials": 10, "failures": 4},
    }
    return Incident.objects.create(profile=endpoint.profile, **{**fields, **over})


def make_notice(
    endpoint: Endpoint | None = None,
    kind: str = Notice.Kind.OPENED,
    *,
    at: datetime | None = None,
    incident: Incident | None = None,
    **body: Any,
) -> Notice:
    """A notice in the outbox."""
    values = {
        "title": "steady: Parse success fell",
        "text": "No mode is on.",
        "severity": 2,
        **body,
    }
    return outbox.put_notice(
        Notice.Kind(kind), endpoint=endpoint, body=values, incident=incident, at=at
    )


def route_and_send() -> int:
    """Route and send as a worker does; return the number of tries."""
    routing.route_notices()
    return deliveries.send_due_deliveries()


def make_due() -> None:
    """End the wait before the next try, and any lease."""
    Delivery.objects.filter(state="waiting").update(
        next_try_at=Now(), leased_until=Now() - timedelta(seconds=1)
    )


def pass_time(span: timedelta) -> None:
    """Move everything so far into the past by `span`."""
    Notice.objects.update(at=F("at") - span)
    Incident.objects.update(opened_at=F("opened_at") - span)
    Delivery.objects.update(next_try_at=F("next_try_at") - span)
    Delivery.objects.update(created_at=F("created_at") - span)
    Channel.objects.update(previous_until=F("previous_until") - span)


def only_delivery() -> Delivery:
    return Delivery.objects.get()
