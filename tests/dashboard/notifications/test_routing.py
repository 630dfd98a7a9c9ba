"""Routing of notices to deliveries: filters, grouping and suppression."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.models import Delivery, Endpoint, Notice
from dashboard.notifications.services import channels, deliveries, maintenance, routing
from tests.dashboard.notifications.builders import (
    make_due,
    make_incident,
    make_notice,
    make_webhook,
    only_delivery,
    pass_time,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db
GROUP_FOR_A_MINUTE: dict[str, Any] = {"group_for": timedelta(minutes=1)}


def test_notices_are_grouped(receiver: Receiver, endpoint: Endpoint) -> None:
    """One message contains all notices of the grouping time."""
    webhook = make_webhook(receiver.url, **GROUP_FOR_A_MINUTE)
    make_notice(endpoint, title="first")
    assert route_and_send() == 0
    make_notice(make_endpoint(slug="second"), title="second", severity=1)
    assert route_and_send() == 0
    make_due()
    route_and_send()
    make_notice(endpoint, title="third")
    route_and_send()

    (request,) = receiver.received
    data = request.verify(webhook.secret)["data"]
    assert data["title"] == "first"
    assert [each["title"] for each in data["notices"]] == ["first", "second"]
    assert [each["endpoint"] for each in data["notices"]] == ["steady", "second"]
    assert Delivery.objects.filter(state="waiting").count() == 1


@pytest.mark.parametrize(
    ("kind", "severity"),
    [(Notice.Kind.OPENED, 3), (Notice.Kind.ESCALATED, 3), (Notice.Kind.DECISION_WANTED, 1)],
)
def test_urgent_notices_are_sent_at_once(
    receiver: Receiver, endpoint: Endpoint, kind: str, severity: int
) -> None:
    """Severity 3 and decisions are sent at once, with the waiting notices."""
    make_webhook(receiver.url, **GROUP_FOR_A_MINUTE)
    make_notice(endpoint, title="waits", severity=1)
    route_and_send()
    make_notice(endpoint, kind, title="urgent", severity=severity)

    route_and_send()

    (request,) = receiver.received
    assert [each["title"] for each in request.json()["data"]["notices"]] == ["waits", "urgent"]


def test_a_tried_delivery_gets_no_more_notices(receiver: Receiver, endpoint: Endpoint) -> None:
    """A message that may have arrived keeps its content and id."""
    make_webhook(receiver.url)
    receiver.responses = [500]
    make_notice(endpoint, title="first")
    route_and_send()
    make_notice(endpoint, title="second")
    route_and_send()
    make_due()
    route_and_send()

    assert [each.json()["data"]["title"] for each in receiver.received] == [
        "first",
        "second",
        "first",
    ]
    assert len(set(receiver.ids())) == 2


def test_a_channel_filters_by_kind_and_severity(receiver: Receiver, endpoint: Endpoint) -> None:
    """Decisions pass at any severity."""
    make_webhook(receiver.url, name="kinds", kinds=["mode.changed", "decision.wanted"])
    make_webhook(receiver.url, name="grave", min_severity=3)
    make_webhook(receiver.url, name="off", enabled=False)
    make_notice(endpoint, "mode.changed", title="mode", severity=1)
    make_notice(endpoint, "incident.opened", title="opened", severity=2)
    make_notice(endpoint, "incident.escalated", title="escalated", severity=3)
    make_notice(endpoint, "decision.wanted", title="decision", severity=1)

    routing.route_notices()

    routed = {
        (delivery.channel.name, notice.body["title"])
        for delivery in Delivery.objects.all()
        for notice in delivery.notices.all()
    }
    assert routed == {
        ("kinds", "mode"),
        ("kinds", "decision"),
        ("grave", "escalated"),
        ("grave", "decision"),
    }


def test_a_recovery_has_the_worst_severity_of_its_incident(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """A channel that got a severe incident also gets its recovery."""
    make_webhook(receiver.url, min_severity=3)
    incident = make_incident(endpoint, severity=1, worst=3)

    make_notice(endpoint, "incident.recovered", incident=incident, severity=1)
    route_and_send()

    assert len(receiver.received) == 1


def test_each_notice_is_routed_once(receiver: Receiver, endpoint: Endpoint) -> None:
    """A channel that is added later gets only later notices."""
    make_notice(endpoint, title="before")
    assert [routing.route_notices(), routing.route_notices()] == [1, 0]
    make_webhook(receiver.url)
    make_notice(endpoint, title="after")

    route_and_send()

    assert [each.json()["data"]["title"] for each in receiver.received] == ["after"]


def test_maintenance_suppresses_notices(receiver: Receiver, endpoint: Endpoint) -> None:
    """Suppressed notices are logged with the reason; other endpoints are not affected."""
    make_webhook(receiver.url)
    now = timezone.now()
    maintenance.plan_window(
        endpoint, now - timedelta(hours=1), now + timedelta(hours=1), by=None, reason="upgrade"
    )
    make_notice(endpoint, severity=3)
    make_notice(make_endpoint(slug="other"), title="other")

    route_and_send()

    assert [each.json()["data"]["title"] for each in receiver.received] == ["other"]
    dropped = Delivery.objects.get(state="dropped")
    assert (dropped.last_error, dropped.notices.get().endpoint) == ("maintenance", endpoint)


def add_changes(
    endpoint: Endpoint, count: int, *, apart: timedelta = timedelta(minutes=10)
) -> None:
    """Open and recover alternately."""
    kinds = ["incident.opened", "incident.recovered"]
    for number in range(count):
        pass_time(apart)
        make_notice(endpoint, kinds[number % 2], title=f"change {number + 1}")
        route_and_send()


def received_titles(receiver: Receiver) -> list[str]:
    return [each.json()["data"]["title"] for each in receiver.received]


def test_flapping_is_reported_once(receiver: Receiver, endpoint: Endpoint) -> None:
    """After four changes within a day one notice replaces all further ones."""
    make_webhook(receiver.url)

    add_changes(endpoint, 9)

    assert received_titles(receiver) == [
        "change 1",
        "change 2",
        "change 3",
        "change 4",
        "steady: flapping, 5 changes within a day",
    ]
    dropped = Delivery.objects.filter(state="dropped")
    assert [each.last_error for each in dropped] == ["flapping"] * 5


def test_flapping_ends_after_a_day_without_changes(receiver: Receiver, endpoint: Endpoint) -> None:
    """Changes every few hours continue it; a day without one ends it."""
    make_webhook(receiver.url)
    add_changes(endpoint, 5)
    add_changes(endpoint, 6, apart=timedelta(hours=20))
    assert len(receiver.received) == 5

    add_changes(endpoint, 1, apart=timedelta(hours=25))

    assert received_titles(receiver)[5:] == ["change 1"]


def test_few_changes_per_day_are_not_flapping(receiver: Receiver, endpoint: Endpoint) -> None:
    """Every change is sent."""
    make_webhook(receiver.url)

    add_changes(endpoint, 8, apart=timedelta(hours=7))

    assert len(receiver.received) == 8


def test_other_notices_of_a_flapping_endpoint_are_sent(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """Escalations and other endpoints are not suppressed."""
    make_webhook(receiver.url)
    add_changes(endpoint, 6)
    receiver.received.clear()

    make_notice(endpoint, "incident.escalated", title="worse")
    make_notice(make_endpoint(slug="other"), title="other")
    route_and_send()

    (request,) = receiver.received
    assert [each["title"] for each in request.json()["data"]["notices"]] == ["worse", "other"]


def test_severity_3_of_a_flapping_endpoint_is_sent(receiver: Receiver, endpoint: Endpoint) -> None:
    """An incident of severity 3 turns tools off, so it is never suppressed."""
    make_webhook(receiver.url)
    add_changes(endpoint, 6)
    receiver.received.clear()

    make_notice(endpoint, "incident.opened", title="grave", severity=3)
    route_and_send()

    assert received_titles(receiver) == ["grave"]


@pytest.mark.parametrize("reason", ["switched off", "removed"])
def test_waiting_deliveries_are_dropped_with_the_channel(
    receiver: Receiver, endpoint: Endpoint, reason: str
) -> None:
    """Old notices are not sent when the channel is turned on again."""
    channel = make_webhook(receiver.url, **GROUP_FOR_A_MINUTE).channel
    make_notice(endpoint)
    route_and_send()

    if reason == "removed":
        channels.remove_channel(channel)
    else:
        channels.change_channel(channel, name="ops", preferences={"enabled": False})
        channels.change_channel(channel, name="ops", preferences={"enabled": True})
    make_due()

    assert deliveries.send_due_deliveries() == 0
    assert (only_delivery().state, reason in only_delivery().last_error) == ("dropped", True)
