"""Delivery, retries and failures with a misbehaving receiver."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard.models import Channel, Delivery, Endpoint
from dashboard.notifications.services import deliveries, routing
from tests.dashboard.notifications.builders import (
    make_due,
    make_notice,
    make_webhook,
    only_delivery,
    route_and_send,
)
from tests.dashboard.notifications.receiver import (
    Receiver,
    Response,
    flood,
    hang,
    hang_after_status,
    redirect_to,
)

pytestmark = pytest.mark.django_db


def test_a_failing_receiver_gets_the_same_message_again(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """Two failures and a success are three tries with one id."""
    webhook = make_webhook(receiver.url)
    receiver.responses = [500, 503]
    make_notice(endpoint)

    for _ in range(5):
        route_and_send()
        make_due()

    assert len(receiver.received) == 3
    assert len({(each.id, each.body) for each in receiver.received}) == 1
    assert all(each.verify(webhook.secret) for each in receiver.received)
    delivery = only_delivery()
    assert (delivery.state, delivery.tries, delivery.last_error) == ("sent", 3, "")


def test_retry_waits_double_up_to_an_hour(receiver: Receiver, endpoint: Endpoint) -> None:
    """A delivery fails after twelve tries."""
    make_webhook(receiver.url)
    receiver.responses = [500] * 20
    make_notice(endpoint)
    waits = []

    for _ in range(12):
        route_and_send()
        delivery = only_delivery()
        waits.append(round((delivery.next_try_at - database_now()).total_seconds()))
        make_due()

    assert waits[:10] == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]
    assert only_delivery().state == "failed"
    assert route_and_send() == 0
    assert len(receiver.received) == 12


def database_now() -> Any:
    from dashboard.core.sql import fetch_row

    row = fetch_row("SELECT statement_timestamp()")
    assert row is not None
    return row[0]


def test_nothing_is_sent_before_it_is_due(receiver: Receiver, endpoint: Endpoint) -> None:
    """The wait uses the clock of the database."""
    make_webhook(receiver.url)
    receiver.responses = [500]
    make_notice(endpoint)

    assert [route_and_send(), route_and_send()] == [1, 0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_not_repeated(receiver: Receiver, endpoint: Endpoint, status: int) -> None:
    """A permanent error fails at the first try."""
    make_webhook(receiver.url)
    receiver.responses = [status]
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, delivery.last_status) == ("failed", status)
    assert str(status) in delivery.last_error


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_temporary_errors_are_retried(receiver: Receiver, endpoint: Endpoint, status: int) -> None:
    """The delivery stays waiting."""
    make_webhook(receiver.url)
    receiver.responses = [status]
    make_notice(endpoint)

    route_and_send()

    assert only_delivery().state == "waiting"


def test_retry_after_is_respected(receiver: Receiver, endpoint: Endpoint) -> None:
    """Retry-After sets the wait."""
    make_webhook(receiver.url)
    receiver.responses = [lambda handler: handler.respond(429, retry_after="120")]
    make_notice(endpoint)

    route_and_send()

    assert round((only_delivery().next_try_at - database_now()).total_seconds()) == 120


def test_a_410_turns_the_channel_off(receiver: Receiver, endpoint: Endpoint) -> None:
    """The channel keeps the reason as a note."""
    make_webhook(receiver.url)
    receiver.responses = [410]
    make_notice(endpoint)

    route_and_send()
    make_notice(endpoint)
    route_and_send()

    channel = Channel.objects.get()
    assert (channel.enabled, only_delivery().state) == (False, "failed")
    assert "410" in channel.note
    assert len(receiver.received) == 1


def test_a_redirect_is_not_followed(
    receiver: Receiver, other_receiver: Receiver, endpoint: Endpoint
) -> None:
    """A receiver cannot redirect a delivery, and the error says so."""
    make_webhook(receiver.url)
    receiver.responses = [redirect_to(other_receiver.url)]
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, delivery.last_status) == ("failed", 302)
    assert "redirects are not followed" in delivery.last_error
    assert other_receiver.received == []


def test_a_hanging_receiver_times_out(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delivery is retried later."""
    monkeypatch.setattr(deliveries, "SEND_TIMEOUT", timedelta(seconds=0.3))
    make_webhook(receiver.url)
    receiver.responses = [hang]
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert (delivery.state, delivery.last_status) == ("waiting", None)
    assert "within 0.3 s" in delivery.last_error


@pytest.mark.parametrize("response", [flood, hang_after_status], ids=["flood", "slow body"])
def test_only_the_status_of_a_response_counts(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, response: Response
) -> None:
    """A long or endless body is not read; the message was received."""
    monkeypatch.setattr(deliveries, "SEND_TIMEOUT", timedelta(seconds=1))
    make_webhook(receiver.url)
    receiver.responses = [response]
    make_notice(endpoint)

    route_and_send()

    assert (only_delivery().state, len(receiver.received)) == ("sent", 1)


def test_a_response_that_is_not_http_is_logged_safely(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """The error contains neither the response nor the URL."""
    make_webhook(f"{receiver.url}/s3cret-path")
    receiver.responses = [
        lambda handler: ignore_result(handler.wfile.write(b"/s3cret-path \0\x1b[31m\xff\r\n\r\n"))
    ]
    make_notice(endpoint)

    route_and_send()

    delivery = only_delivery()
    assert delivery.state == "waiting"
    assert delivery.last_error.isprintable()
    assert "s3cret" not in delivery.last_error


def ignore_result(_: object) -> None:
    return None


def test_a_delivery_without_notices_fails(receiver: Receiver, endpoint: Endpoint) -> None:
    """A delivery whose notices were deleted is not sent."""
    make_webhook(receiver.url)
    make_notice(endpoint)
    routing.route_notices()
    only_delivery().notices.clear()

    deliveries.send_due_deliveries()

    assert (only_delivery().state, receiver.received) == ("failed", [])


def test_a_failed_delivery_can_be_retried(receiver: Receiver, endpoint: Endpoint) -> None:
    """The retry has the same id; a sent delivery cannot be retried."""
    make_webhook(receiver.url)
    receiver.responses = [400]
    make_notice(endpoint)
    route_and_send()

    assert deliveries.retry_delivery(only_delivery())
    route_and_send()
    assert not deliveries.retry_delivery(only_delivery())

    assert only_delivery().state == "sent"
    assert len(set(receiver.ids())) == 1
    assert Delivery.objects.count() == 1
