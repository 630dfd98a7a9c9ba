"""Reminders of open incidents that are not acknowledged."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Incident, Notice
from dashboard.notifications.services import maintenance, reminders
from tests.dashboard.notifications.builders import (
    make_incident,
    make_notice,
    make_webhook,
    pass_time,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db
HOURLY: dict[str, Any] = {"remind_every": timedelta(hours=1)}


def open_incident(endpoint: Endpoint, severity: int = 2) -> Incident:
    incident = make_incident(endpoint, severity=severity, worst=severity)
    make_notice(endpoint, incident=incident, severity=severity)
    route_and_send()
    return incident


def test_an_open_incident_is_repeated_once_per_interval(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """More frequent checks send no more reminders."""
    make_webhook(receiver.url, **HOURLY)
    open_incident(endpoint)

    counts = []
    for minutes in (59, 2, 58, 3, 200):
        pass_time(timedelta(minutes=minutes))
        counts += [reminders.send_reminders(), reminders.send_reminders()]
    route_and_send()

    assert counts == [0, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    (data,) = [
        each.json()["data"] for each in receiver.received if "still" in each.json()["data"]["title"]
    ]
    assert data["title"] == "steady: Parse success is still degraded"
    assert (data["type"], data["severity"], len(data["notices"])) == ("incident.reminder", 2, 3)
    assert data["text"].startswith("Open for 5 h")


def recover(incident: Incident) -> None:
    Incident.objects.filter(pk=incident.pk).update(
        state=Incident.State.RECOVERED, ended_at=timezone.now()
    )


def acknowledge(incident: Incident) -> None:
    Incident.objects.filter(pk=incident.pk).update(acknowledged_at=timezone.now())


def remove(incident: Incident) -> None:
    endpoints.remove(incident.profile.endpoint)


def maintain(incident: Incident) -> None:
    now, hour = timezone.now(), timedelta(hours=1)
    maintenance.plan_window(incident.profile.endpoint, now - hour, now + hour, by=None, reason="r")


@pytest.mark.parametrize("settle_incident", [recover, acknowledge, remove, maintain])
def test_a_settled_incident_is_not_repeated(
    receiver: Receiver, endpoint: Endpoint, settle_incident: object
) -> None:
    """Recovered, acknowledged, removed or in maintenance."""
    make_webhook(receiver.url, **HOURLY)
    incident = open_incident(endpoint)
    pass_time(timedelta(hours=2))
    assert callable(settle_incident)

    settle_incident(incident)

    assert reminders.send_reminders() == 0
    assert not Notice.objects.filter(kind="incident.reminder").exists()


def test_each_channel_has_its_own_interval(receiver: Receiver, endpoint: Endpoint) -> None:
    """A channel without an interval, or with other filters, gets none."""
    make_webhook(receiver.url, name="hourly", **HOURLY)
    make_webhook(receiver.url, name="daily", remind_every=timedelta(days=1))
    make_webhook(receiver.url, name="never")
    make_webhook(receiver.url, name="grave", min_severity=3, **HOURLY)
    make_webhook(receiver.url, name="other kinds", kinds=["mode.changed"], **HOURLY)
    open_incident(endpoint)

    pass_time(timedelta(hours=2))
    assert reminders.send_reminders() == 1
    pass_time(timedelta(hours=23))
    assert reminders.send_reminders() == 2
