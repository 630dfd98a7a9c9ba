"""Quiet hours, by the clock of the database."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any

import pytest

from dashboard.core.errors import Refused
from dashboard.core.sql import fetch_row
from dashboard.models import Channel, Endpoint
from dashboard.notifications.services import channels, deliveries
from tests.dashboard.notifications.builders import make_webhook, tell, turn
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db
ZONES = ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati"]


def around_now(zone: str, start: int, end: int) -> dict[str, Any]:
    """Quiet hours from and until so many minutes from now, by the clock on that wall."""
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
    """Before, during and after them, over midnight or not."""
    windows = {
        (-60, 60): True,
        (-720, 60): True,
        (-60, 720): True,
        (60, 120): False,
        (-120, -60): False,
    }
    made = {
        window: make_webhook(receiver.url, name=str(window), **around_now(zone, *window)).channel.pk
        for window in windows
    }

    quiet = deliveries.quiet_channels()

    assert {window: pk in quiet for window, pk in made.items()} == windows


def test_in_quiet_hours_notices_wait_and_gather(receiver: Receiver, endpoint: Endpoint) -> None:
    """When they end, one message tells all."""
    channel = make_webhook(receiver.url, **around_now("UTC", -60, 60)).channel
    for number in range(3):
        tell(endpoint, "incident.escalated", title=f"n{number}")
        assert turn() == 0

    Channel.objects.filter(pk=channel.pk).update(**around_now("UTC", -60, -1))
    turn()

    (got,) = receiver.received
    assert [each["title"] for each in got.json()["data"]["notices"]] == ["n0", "n1", "n2"]


@pytest.mark.parametrize(("kind", "severity"), [("incident.opened", 3), ("decision.wanted", 1)])
def test_what_is_urgent_breaks_the_quiet(
    receiver: Receiver, endpoint: Endpoint, kind: str, severity: int
) -> None:
    """Somebody has to be woken."""
    make_webhook(receiver.url, **around_now("UTC", -60, 60))

    tell(endpoint, kind, severity=severity)
    turn()

    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    "wishes",
    [
        {"quiet_from": time(22), "quiet_until": None},
        {"quiet_from": None, "quiet_until": time(6)},
        {"quiet_from": time(22), "quiet_until": time(22)},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "'; DROP TABLE dashboard_notice; --"},
    ],
    ids=str,
)
def test_quiet_hours_must_make_sense(receiver: Receiver, wishes: dict[str, Any]) -> None:
    """Half of a time, none at all, or no time zone: refused before anything is stored."""
    with pytest.raises(Refused):
        make_webhook(receiver.url, **wishes)

    made = make_webhook(receiver.url)
    with pytest.raises(Refused):
        channels.change_channel(made.channel, name="ops", wishes=wishes)
