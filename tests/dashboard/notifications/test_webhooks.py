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
    make_notice,
    make_webhook,
    only_delivery,
    pass_time,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver

pytestmark = pytest.mark.django_db


def test_a_receiver_verifies_what_it_gets(receiver: Receiver, endpoint: Endpoint) -> None:
    """The signature follows Standard Webhooks, and the body describes the event."""
    webhook = make_webhook(receiver.url)
    incident = make_incident(endpoint)
    make_notice(endpoint, incident=incident, metric="parse_success", figures={"trials": 10})

    assert route_and_send() == 1

    (request,) = receiver.received
    body = request.verify(webhook.secret)
    assert body["type"] == "incident.opened"
    assert body["timestamp"].endswith("Z")
    data = body["data"]
    notices = data.pop("notices")
    assert data == {
        "type": "incident.opened",
        "timestamp": body["timestamp"],
        "endpoint": "steady",
        "title": "steady: Parse success fell",
        "text": "No mode is on.",
        "severity": 2,
        "metric": "parse_success",
        "url": f"https://gauge.example/incidents/{incident.pk}/",
        "figures": {"trials": 10},
    }
    assert notices == [data]
    delivery = only_delivery()
    assert (delivery.state, delivery.last_status, delivery.tries) == ("sent", 200, 1)
    assert delivery.sent_at is not None


def change_body(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return headers, body.replace(b"opened", b"closed")


def change_id(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {**headers, "webhook-id": "another"}, body


def change_time(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}, body


def replay_old(headers: dict[str, str], body: bytes) -> tuple[dict[str, str], bytes]:
    return {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 3600)}, body


@pytest.mark.parametrize("tamper", [change_body, change_id, change_time, replay_old])
def test_whatever_was_tampered_with_does_not_verify(
    receiver: Receiver,
    endpoint: Endpoint,
    tamper: Callable[[dict[str, str], bytes], tuple[dict[str, str], bytes]],
) -> None:
    """The signature covers body, id and time, and an old message cannot be replayed."""
    webhook = make_webhook(receiver.url)
    make_notice(endpoint)
    route_and_send()
    (request,) = receiver.received
    headers, body = tamper(request.headers, request.body)

    request.verify(webhook.secret)
    with pytest.raises(WebhookVerificationError):
        Webhook(webhook.secret).verify(body, headers)


def test_both_secrets_verify_for_a_day(receiver: Receiver, endpoint: Endpoint) -> None:
    """Receivers can change the secret without losing a message; then the old one is invalid."""
    webhook = make_webhook(receiver.url)
    rotated = channels.rotate_secret(webhook.channel)
    make_notice(endpoint)
    route_and_send()
    pass_time(timedelta(days=1))
    make_notice(endpoint)
    route_and_send()

    during, after = receiver.received
    assert during.verify(webhook.secret) == during.verify(rotated.secret)
    assert after.verify(rotated.secret)
    with pytest.raises(WebhookVerificationError):
        after.verify(webhook.secret)


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
def test_an_address_without_a_grant_is_refused(url: str) -> None:
    """The address is checked when the channel is saved."""
    with pytest.raises(Refused, match=r"EGRESS_GRANTS|never connected to"):
        make_webhook(url)

    assert not Channel.objects.exists()


def test_a_revoked_grant_stops_deliveries(
    receiver: Receiver, endpoint: Endpoint, settings: Any
) -> None:
    """The address is checked again at every connection."""
    make_webhook(receiver.url)
    settings.EGRESS_GRANTS = ""
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, receiver.received) == ("failed", [])
    assert "EGRESS_GRANTS" in delivery.last_error


def test_plain_http_goes_to_granted_addresses_only(endpoint: Endpoint) -> None:
    """A public receiver needs https."""
    make_webhook("http://1.1.1.1/hook")
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, delivery.tries) == ("failed", 1)
    assert "grant" in delivery.last_error
