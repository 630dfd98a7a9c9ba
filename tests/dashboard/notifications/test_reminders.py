"""Reminding of what is open and nobody has acknowledged."""

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
    make_webhook,
    pass_time,
    tell,
    turn,
)
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db
HOURLY: dict[str, Any] = {"remind_every": timedelta(hours=1)}


def opened(endpoint: Endpoint, severity: int = 2) -> Incident:
    incident = make_incident(endpoint, severity=severity, worst=severity)
    tell(endpoint, incident=incident, severity=severity)
    turn()
    return incident


def test_an_open_incident_is_told_again_once_an_interval(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """However often anybody looks."""
    make_webhook(receiver.url, **HOURLY)
    opened(endpoint)

    counts = []
    for minutes in (59, 2, 58, 3, 200):
        pass_time(timedelta(minutes=minutes))
        counts += [reminders.send_reminders(), reminders.send_reminders()]
    turn()

    assert counts == [0, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    (data,) = [
        each.json()["data"] for each in receiver.received if "still" in each.json()["data"]["title"]
    ]
    assert data["title"] == "steady: Parse success is still degraded"
    assert (data["type"], data["severity"], len(data["notices"])) == ("incident.reminder", 2, 3)
    assert data["text"].startswith("Open for 5 h")


def end(incident: Incident) -> None:
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


@pytest.mark.parametrize("what", [end, acknowledge, remove, maintain])
def test_nobody_is_reminded_of_what_is_settled(
    receiver: Receiver, endpoint: Endpoint, what: object
) -> None:
    """Recovered, acknowledged, removed or under maintenance."""
    make_webhook(receiver.url, **HOURLY)
    incident = opened(endpoint)
    pass_time(timedelta(hours=2))
    assert callable(what)

    what(incident)

    assert reminders.send_reminders() == 0
    assert not Notice.objects.filter(kind="incident.reminder").exists()


def test_each_channel_has_its_own_interval(receiver: Receiver, endpoint: Endpoint) -> None:
    """And one without an interval, or without a taste for it, is not reminded."""
    make_webhook(receiver.url, name="hourly", **HOURLY)
    make_webhook(receiver.url, name="daily", remind_every=timedelta(days=1))
    make_webhook(receiver.url, name="never")
    make_webhook(receiver.url, name="grave", min_severity=3, **HOURLY)
    make_webhook(receiver.url, name="other kinds", kinds=["mode.changed"], **HOURLY)
    opened(endpoint)

    pass_time(timedelta(hours=2))
    assert reminders.send_reminders() == 1
    pass_time(timedelta(hours=23))
    assert reminders.send_reminders() == 2
