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

AT_ONCE = {"group_for": timedelta()}


def make_webhook(url: str, *, name: str = "ops", **wishes: Any) -> ChannelSecret:
    """A webhook that gathers nothing, unless told otherwise."""
    return channels.create_channel(
        name=name, kind="webhook", url=url, by=None, wishes={**AT_ONCE, **wishes}
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


def tell(
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


def turn() -> int:
    """What a worker does: route, then send what is due."""
    routing.route_notices()
    return deliveries.send_due_deliveries()


def make_due() -> None:
    """As if the wait before the next try, and any lease, were over."""
    Delivery.objects.filter(state="waiting").update(
        next_try_at=Now(), leased_until=Now() - timedelta(seconds=1)
    )


def pass_time(span: timedelta) -> None:
    """As if so long had gone by since everything so far."""
    Notice.objects.update(at=F("at") - span)
    Incident.objects.update(opened_at=F("opened_at") - span)
    Delivery.objects.update(next_try_at=F("next_try_at") - span)
    Delivery.objects.update(created_at=F("created_at") - span)
    Channel.objects.update(previous_until=F("previous_until") - span)


def the_delivery() -> Delivery:
    return Delivery.objects.get()
