"""Trying, trying again and giving up, against a real receiver that misbehaves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard.models import Channel, Delivery, Endpoint
from dashboard.notifications.services import deliveries, routing
from tests.dashboard.notifications.builders import make_due, make_webhook, tell, the_delivery, turn
from tests.dashboard.notifications.receiver import (
    Answer,
    Receiver,
    flood,
    hang,
    hang_after_the_status,
    redirect_to,
)

pytestmark = pytest.mark.django_db


def test_a_failing_receiver_gets_the_same_message_again(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """Two failures, then success: three tries under one id, and nothing after that."""
    made = make_webhook(receiver.url)
    receiver.answers = [500, 503]
    tell(endpoint)

    for _ in range(5):
        turn()
        make_due()

    assert len(receiver.received) == 3
    assert len({(each.id, each.body) for each in receiver.received}) == 1
    assert all(each.verified(made.secret) for each in receiver.received)
    delivery = the_delivery()
    assert (delivery.state, delivery.tries, delivery.last_error) == ("sent", 3, "")


def test_the_waits_between_tries_double_up_to_an_hour(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """A receiver that is down is left in peace for longer and longer, twelve times in all."""
    make_webhook(receiver.url)
    receiver.answers = [500] * 20
    tell(endpoint)
    waits = []

    for _ in range(12):
        turn()
        delivery = the_delivery()
        waits.append(round((delivery.next_try_at - now()).total_seconds()))
        make_due()

    assert waits[:10] == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]
    assert the_delivery().state == "failed"
    assert turn() == 0
    assert len(receiver.received) == 12


def now() -> Any:
    from dashboard.core.sql import fetch_row

    row = fetch_row("SELECT statement_timestamp()")
    assert row is not None
    return row[0]


def test_nothing_is_sent_before_it_is_due(receiver: Receiver, endpoint: Endpoint) -> None:
    """The wait is kept by the database's clock."""
    make_webhook(receiver.url)
    receiver.answers = [500]
    tell(endpoint)

    assert [turn(), turn()] == [1, 0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_not_repeated(receiver: Receiver, endpoint: Endpoint, status: int) -> None:
    """What the receiver refuses once, it refuses again."""
    make_webhook(receiver.url)
    receiver.answers = [status]
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, delivery.last_status) == ("failed", status)
    assert str(status) in delivery.last_error


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_trouble_that_may_pass_is_waited_for(
    receiver: Receiver, endpoint: Endpoint, status: int
) -> None:
    """These are tried again."""
    make_webhook(receiver.url)
    receiver.answers = [status]
    tell(endpoint)

    turn()

    assert the_delivery().state == "waiting"


def test_a_receiver_may_ask_for_a_longer_wait(receiver: Receiver, endpoint: Endpoint) -> None:
    """Retry-After is kept, up to an hour."""
    make_webhook(receiver.url)
    receiver.answers = [lambda handler: handler.say(429, retry_after="120")]
    tell(endpoint)

    turn()

    assert round((the_delivery().next_try_at - now()).total_seconds()) == 120


def test_a_receiver_that_is_gone_switches_its_channel_off(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """410 means never again; the page says why."""
    make_webhook(receiver.url)
    receiver.answers = [410]
    tell(endpoint)

    turn()
    tell(endpoint)
    turn()

    channel = Channel.objects.get()
    assert (channel.enabled, the_delivery().state) == (False, "failed")
    assert "410" in channel.note
    assert len(receiver.received) == 1


def test_a_redirect_is_not_followed(
    receiver: Receiver, other: Receiver, endpoint: Endpoint
) -> None:
    """A receiver cannot send us to another port, and the log says what happened."""
    make_webhook(receiver.url)
    receiver.answers = [redirect_to(other.url)]
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, delivery.last_status) == ("failed", 302)
    assert "redirects are not followed" in delivery.last_error
    assert other.received == []


def test_a_hanging_receiver_is_left(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It costs the time that a try may take, and is tried again later."""
    monkeypatch.setattr(deliveries, "SEND_TIMEOUT", timedelta(seconds=0.3))
    make_webhook(receiver.url)
    receiver.answers = [hang]
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert (delivery.state, delivery.last_status) == ("waiting", None)
    assert "within 0.3 s" in delivery.last_error


@pytest.mark.parametrize("answer", [flood, hang_after_the_status], ids=["flood", "slow body"])
def test_of_an_answer_only_the_status_counts(
    receiver: Receiver, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    """A hundred megabytes are not read and an endless body is not waited for: it was received."""
    monkeypatch.setattr(deliveries, "SEND_TIMEOUT", timedelta(seconds=1))
    make_webhook(receiver.url)
    receiver.answers = [answer]
    tell(endpoint)

    turn()

    assert (the_delivery().state, len(receiver.received)) == ("sent", 1)


def test_an_answer_that_is_not_http_is_told_without_harm(
    receiver: Receiver, endpoint: Endpoint
) -> None:
    """What a receiver says back, our own URL included, does not get into the log."""
    make_webhook(f"{receiver.url}/s3cret-path")
    receiver.answers = [
        lambda handler: void(handler.wfile.write(b"/s3cret-path \0\x1b[31m\xff\r\n\r\n"))
    ]
    tell(endpoint)

    turn()

    delivery = the_delivery()
    assert delivery.state == "waiting"
    assert delivery.last_error.isprintable()
    assert "s3cret" not in delivery.last_error


def void(_: object) -> None:
    return None


def test_what_is_gone_is_not_told(receiver: Receiver, endpoint: Endpoint) -> None:
    """A delivery whose notices were deleted ends, and harms no other."""
    make_webhook(receiver.url)
    tell(endpoint)
    routing.route_notices()
    the_delivery().notices.clear()

    deliveries.send_due_deliveries()

    assert (the_delivery().state, receiver.received) == ("failed", [])


def test_a_failed_delivery_can_be_tried_again(receiver: Receiver, endpoint: Endpoint) -> None:
    """By hand, under the same id; one that arrived cannot."""
    make_webhook(receiver.url)
    receiver.answers = [400]
    tell(endpoint)
    turn()

    assert deliveries.retry_delivery(the_delivery())
    turn()
    assert not deliveries.retry_delivery(the_delivery())

    assert the_delivery().state == "sent"
    assert len(set(receiver.ids())) == 1
    assert Delivery.objects.count() == 1
