"""Signed webhooks against a real receiver."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from dashboard.core.errors import Refused
from dashboard.models import Channel, Endpoint
from dashboard.notifications.services import channels
from tests.dashboard.notifications.builders import (
    make_incident,
    make_webhook,
    pass_time,
    tell,
    the_delivery,
    turn,
)
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db


def test_a_receiver_verifies_what_it_gets(receiver: Receiver, endpoint: Endpoint) -> None:
    """The signature is that of Standard Webhooks, and the body says what happened."""
    made = make_webhook(receiver.url)
    incident = make_incident(endpoint)
    tell(endpoint, incident=incident, metric="parse_success", figures={"trials": 10})

    assert turn() == 1

    (got,) = receiver.received
    said = got.verified(made.secret)
    assert said["type"] == "incident.opened"
    assert said["timestamp"].endswith("Z")
    data = said["data"]
    told = data.pop("notices")
    assert data == {
        "type": "incident.opened",
        "timestamp": said["timestamp"],
        "endpoint": "steady",
        "title": "steady: Parse success fell",
        "text": "No mode is on.",
        "severity": 2,
        "metric": "parse_success",
        "url": f"https://gauge.example/incidents/{incident.pk}/",
        "figures": {"trials": 10},
    }
    assert told == [data]
    delivery = the_delivery()
    assert (delivery.state, delivery.last_status, delivery.tries) == ("sent", 200, 1)
    assert delivery.sent_at is not None


def spoil_body(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return headers, body.replace(b"opened", b"closed")


def spoil_id(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {**headers, "webhook-id": "another"}, body


def spoil_time(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}, body


def grow_old(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 3600)}, body


@pytest.mark.parametrize("spoil", [spoil_body, spoil_id, spoil_time, grow_old])
def test_whatever_was_tampered_with_does_not_verify(
    receiver: Receiver,
    endpoint: Endpoint,
    spoil: Callable[[dict[str, str], bytes], tuple[dict[str, str], bytes]],
) -> None:
    """Body, id and time are under the signature, and an old message cannot be replayed."""
    made = make_webhook(receiver.url)
    tell(endpoint)
    turn()
    (got,) = receiver.received
    headers, body = spoil(got.headers, got.body)

    got.verified(made.secret)
    with pytest.raises(WebhookVerificationError):
        Webhook(made.secret).verify(body, headers)


def test_for_a_day_both_secrets_verify(receiver: Receiver, endpoint: Endpoint) -> None:
    """Receivers can change over without losing a message; then the old secret is worth nothing."""
    made = make_webhook(receiver.url)
    fresh = channels.rotate_secret(made.channel)
    tell(endpoint)
    turn()
    pass_time(timedelta(days=1))
    tell(endpoint)
    turn()

    during, after = receiver.received
    assert during.verified(made.secret) == during.verified(fresh.secret)
    assert after.verified(fresh.secret)
    with pytest.raises(WebhookVerificationError):
        after.verified(made.secret)


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254/latest/meta-data/",
        "https://[fd00:ec2::254]/",
        "https://10.0.0.1/hook",
        "https://127.0.0.2/hook",
        "https://[::1]/hook",
        "http://10.0.0.1/hook",
    ],
)
def test_an_address_that_is_not_granted_cannot_be_saved(url: str) -> None:
    """Whoever types an address learns at once that it will not do."""
    with pytest.raises(Refused, match=r"EGRESS_GRANTS|never connected to"):
        make_webhook(url)

    assert not Channel.objects.exists()


def test_a_grant_that_was_taken_back_stops_deliveries(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    """The address is judged when it is connected to, whatever was so when it was saved."""
    make_webhook(receiver.url)
    settings.EGRESS_GRANTS = ""
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, receiver.received) == ("failed", [])
    assert "EGRESS_GRANTS" in delivery.last_error


def test_plain_http_goes_to_granted_addresses_only(endpoint: Endpoint) -> None:
    """A public receiver must offer https."""
    make_webhook("http://1.1.1.1/hook")
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, delivery.tries) == ("failed", 1)
    assert "grant" in delivery.last_error
