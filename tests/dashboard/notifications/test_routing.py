"""From the outbox to deliveries: who is told, together with what, and what is held back."""

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
    make_webhook,
    pass_time,
    tell,
    the_delivery,
    turn,
)
from tests.dashboard.notifications.receiver import Receiver
from tests.factories import make_endpoint

pytestmark = pytest.mark.django_db
MINUTE: dict[str, Any] = {"group_for": timedelta(minutes=1)}


def test_notices_that_come_together_are_told_together(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """One message about all of them, after the time that a channel gathers for."""
    made = make_webhook(receiver.url, **MINUTE)
    tell(endpoint, title="first")
    assert turn() == 0
    tell(make_endpoint(slug="second"), title="second", severity=1)
    assert turn() == 0
    make_due()
    turn()
    tell(endpoint, title="third")
    turn()

    (got,) = receiver.received
    data = got.verified(made.secret)["data"]
    assert data["title"] == "first"
    assert [each["title"] for each in data["notices"]] == ["first", "second"]
    assert [each["endpoint"] for each in data["notices"]] == ["steady", "second"]
    assert Delivery.objects.filter(state="waiting").count() == 1


@pytest.mark.parametrize(
    ("kind", "severity"),
    [(Notice.Kind.OPENED, 3), (Notice.Kind.ESCALATED, 3), (Notice.Kind.DECISION_WANTED, 1)],
)
def test_what_is_urgent_waits_for_nothing(
    receiver: Receiver, endpoint: Endpoint, kind: str, severity: int
) -> None:
    """The gravest, and a decision that is wanted, go at once and take along what waits."""
    make_webhook(receiver.url, **MINUTE)
    tell(endpoint, title="waits", severity=1)
    turn()
    tell(endpoint, kind, title="urgent", severity=severity)

    turn()

    (got,) = receiver.received
    assert [each["title"] for each in got.json()["data"]["notices"]] == ["waits", "urgent"]


def test_what_was_tried_takes_in_no_more(receiver: Receiver, endpoint: Endpoint) -> None:
    """A message that may have arrived stays as it is under its id."""
    make_webhook(receiver.url)
    receiver.answers = [500]
    tell(endpoint, title="first")
    turn()
    tell(endpoint, title="second")
    turn()
    make_due()
    turn()

    assert [each.json()["data"]["title"] for each in receiver.received] == [
        "first",
        "second",
        "first",
    ]
    assert len(set(receiver.ids())) == 2


def test_a_channel_hears_what_it_wants(receiver: Receiver, endpoint: Endpoint) -> None:
    """By kind and by severity; whether a decision is wanted is never a matter of severity."""
    make_webhook(receiver.url, name="kinds", kinds=["mode.changed", "decision.wanted"])
    make_webhook(receiver.url, name="grave", min_severity=3)
    make_webhook(receiver.url, name="off", enabled=False)
    tell(endpoint, "mode.changed", title="mode", severity=1)
    tell(endpoint, "incident.opened", title="opened", severity=2)
    tell(endpoint, "incident.escalated", title="escalated", severity=3)
    tell(endpoint, "decision.wanted", title="decision", severity=1)

    routing.route_notices()

    heard = {
        (delivery.channel.name, notice.body["title"])
        for delivery in Delivery.objects.all()
        for notice in delivery.notices.all()
    }
    assert heard == {
        ("kinds", "mode"),
        ("kinds", "decision"),
        ("grave", "escalated"),
        ("grave", "decision"),
    }


def test_who_heard_of_a_grave_incident_hears_of_its_recovery(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """A recovery counts as much as the incident did at its worst."""
    make_webhook(receiver.url, min_severity=3)
    incident = make_incident(endpoint, severity=1, worst=3)

    tell(endpoint, "incident.recovered", incident=incident, severity=1)
    turn()

    assert len(receiver.received) == 1


def test_each_notice_is_routed_once(receiver: Receiver, endpoint: Endpoint) -> None:
    """Also where nobody wanted it: a channel that is added later hears of later things."""
    tell(endpoint, title="before")
    assert [routing.route_notices(), routing.route_notices()] == [1, 0]
    make_webhook(receiver.url)
    tell(endpoint, title="after")

    turn()

    assert [each.json()["data"]["title"] for each in receiver.received] == ["after"]


def test_in_maintenance_nothing_is_told(receiver: Receiver, endpoint: Endpoint) -> None:
    """What was held back stands in the log with its reason; other endpoints are told of."""
    make_webhook(receiver.url)
    now = timezone.now()
    maintenance.plan_window(
        endpoint, now - timedelta(hours=1), now + timedelta(hours=1), by=None, reason="upgrade"
    )
    tell(endpoint, severity=3)
    tell(make_endpoint(slug="other"), title="other")

    turn()

    assert [each.json()["data"]["title"] for each in receiver.received] == ["other"]
    dropped = Delivery.objects.get(state="dropped")
    assert (dropped.last_error, dropped.notices.get().endpoint) == ("maintenance", endpoint)


def changes(endpoint: Endpoint, count: int, *, apart: timedelta = timedelta(minutes=10)) -> None:
    """Open and recover in turn, one change after another."""
    kinds = ["incident.opened", "incident.recovered"]
    for number in range(count):
        pass_time(apart)
        tell(endpoint, kinds[number % 2], title=f"change {number + 1}")
        turn()


def titles(receiver: Receiver) -> list[str]:
    return [each.json()["data"]["title"] for each in receiver.received]


def test_an_endpoint_that_flaps_is_said_to_flap_once(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """After four changes within a day one notice stands for all further ones."""
    make_webhook(receiver.url)

    changes(endpoint, 9)

    assert titles(receiver) == [
        "change 1",
        "change 2",
        "change 3",
        "change 4",
        "steady: flapping, 5 changes within a day",
    ]
    dropped = Delivery.objects.filter(state="dropped")
    assert [each.last_error for each in dropped] == ["flapping"] * 5


def test_flapping_ends_with_a_calm_day(receiver: Receiver, endpoint: Endpoint) -> None:
    """A change every few hours keeps it up; a day without one ends it."""
    make_webhook(receiver.url)
    changes(endpoint, 5)
    changes(endpoint, 6, apart=timedelta(hours=20))
    assert len(receiver.received) == 5

    changes(endpoint, 1, apart=timedelta(hours=25))

    assert titles(receiver)[5:] == ["change 1"]


def test_few_changes_a_day_are_no_flapping(receiver: Receiver, endpoint: Endpoint) -> None:
    """Every change is told where each is news."""
    make_webhook(receiver.url)

    changes(endpoint, 8, apart=timedelta(hours=7))

    assert len(receiver.received) == 8


def test_other_notices_of_a_flapping_endpoint_are_told(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """That it got worse is news, and so is another endpoint."""
    make_webhook(receiver.url)
    changes(endpoint, 6)
    receiver.received.clear()

    tell(endpoint, "incident.escalated", title="worse")
    tell(make_endpoint(slug="other"), title="other")
    turn()

    (got,) = receiver.received
    assert [each["title"] for each in got.json()["data"]["notices"]] == ["worse", "other"]


def test_the_worst_is_told_of_a_flapping_endpoint_too(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """What opens at severity 3 takes tools away: nobody may learn that a day later."""
    make_webhook(receiver.url)
    changes(endpoint, 6)
    receiver.received.clear()

    tell(endpoint, "incident.opened", title="grave", severity=3)
    turn()

    assert titles(receiver) == ["grave"]


@pytest.mark.parametrize("way", ["switched off", "removed"])
def test_what_waits_for_a_channel_goes_with_it(
    receiver: Receiver, endpoint: Endpoint, way: str
) -> None:
    """Old news is not sent when the channel is switched on again."""
    channel = make_webhook(receiver.url, **MINUTE).channel
    tell(endpoint)
    turn()

    if way == "removed":
        channels.remove_channel(channel)
    else:
        channels.change_channel(channel, name="ops", wishes={"enabled": False})
        channels.change_channel(channel, name="ops", wishes={"enabled": True})
    make_due()

    assert deliveries.send_due_deliveries() == 0
    assert (the_delivery().state, way in the_delivery().last_error) == ("dropped", True)
