"""Quiet hours, by the clock of the database."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest

from dashboard.core.errors import Refused
from dashboard.core.sql import fetch_row
from dashboard.models import Channel, Endpoint
from dashboard.notifications.services import channels, deliveries
from tests.dashboard.notifications.builders import make_notice, make_webhook, route_and_send
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db
ZONES = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati"]


def quiet_hours_around_now(zone: str, start: int, end: int) -> dict[str, Any]:
    """Quiet hours with an offset of minutes from now, in local time of the zone."""
    row = fetch_row("SELECT statement_timestamp() AT TIME ZONE %(zone)s", {"zone": zone})
    assert row is not None
    moments = [row[0] + timedelta(minutes=minutes) for minutes in (start, end)]
    return {
        "quiet_from": moments[0].time(),
        "quiet_until": moments[1].time(),
        "time_zone": zone,
    }


@pytest.mark.parametrize("zone", ZONES)
def test_quiet_hours_hold_in_their_time_zone(receiver: Receiver, zone: str) -> None:
    """They apply in their zone, also over midnight."""
    windows = {
        (-60, 60): True,
        (-720, 60): True,
        (-60, 720): True,
        (60, 120): False,
        (-120, -60): False,
    }
    channel_ids = {
        window: make_webhook(
            receiver.url, name=str(window), **quiet_hours_around_now(zone, *window)
        ).channel.pk
        for window in windows
    }

    quiet = deliveries.quiet_channels()

    assert {window: pk in quiet for window, pk in channel_ids.items()} == windows


def test_in_quiet_hours_notices_are_grouped(receiver: Receiver, endpoint: Endpoint) -> None:
    """After the quiet hours one message contains all notices."""
    channel = make_webhook(receiver.url, **quiet_hours_around_now("UTC", -60, 60)).channel
    for number in range(3):
        make_notice(endpoint, "incident.escalated", title=f"n{number}")
        assert route_and_send() == 0

    Channel.objects.filter(pk=channel.pk).update(**quiet_hours_around_now("UTC", -60, -1))
    route_and_send()

    (request,) = receiver.received
    assert [each["title"] for each in request.json()["data"]["notices"]] == ["n0", "n1", "n2"]


@pytest.mark.parametrize(("kind", "severity"), [("incident.opened", 3), ("decision.wanted", 1)])
def test_urgent_notices_ignore_quiet_hours(
    receiver: Receiver, endpoint: Endpoint, kind: str, severity: int
) -> None:
    """Severity 3 and decisions are sent at once."""
    make_webhook(receiver.url, **quiet_hours_around_now("UTC", -60, 60))

    make_notice(endpoint, kind, severity=severity)
    route_and_send()

    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "preferences",
    [
        {"quiet_from": time(22), "quiet_until": None},
        {"quiet_from": None, "quiet_until": time(6)},
        {"quiet_from": time(22), "quiet_until": time(22)},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "'; DROP TABLE dashboard_notice; --"},
    ],
    ids=str,
)
def test_invalid_quiet_hours_are_refused(receiver: Receiver, preferences: dict[str, Any]) -> None:
    """Incomplete or empty hours and unknown time zones are refused."""
    with pytest.raises(Refused):
        make_webhook(receiver.url, **preferences)

    webhook = make_webhook(receiver.url)
    with pytest.raises(Refused):
        channels.change_channel(webhook.channel, name="ops", preferences=preferences)
