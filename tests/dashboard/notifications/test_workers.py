"""Several workers, and workers that die."""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from dashboard.models import Delivery
from dashboard.notifications.services import deliveries, reminders, routing
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
from tests.live import eventually, process
from workers.notifying import notify

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4
SENDING = """
import django; django.setup()
from dashboard.notifications.services import deliveries
deliveries.send_due_deliveries()
"""


def at_once(*duties: object) -> None:
    """Several workers at once, each with a connection of its own."""
    ready = threading.Barrier(WORKERS)
    trouble: list[Exception] = []

    def work() -> None:
        try:
            ready.wait()
            for duty in duties:
                assert callable(duty)
                duty()
        except Exception as exc:  # noqa: BLE001 -- told to the test below
            trouble.append(exc)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trouble == []


def test_of_several_workers_one_sends(receiver: Receiver) -> None:
    """Each delivery is sent once, whoever routes and whoever sends."""
    endpoint = make_endpoint()
    make_webhook(receiver.url, name="one")
    make_webhook(receiver.url, name="two")
    for number in range(10):
        tell(endpoint, "mode.changed", title=f"n{number}")

    at_once(routing.route_notices, deliveries.send_due_deliveries)

    told = [each["title"] for got in receiver.received for each in got.json()["data"]["notices"]]
    assert sorted(told) == sorted([f"n{number}" for number in range(10)] * 2)
    assert len(set(receiver.ids())) == len(receiver.received)
    assert set(Delivery.objects.values_list("state", "tries")) == {("sent", 1)}


def test_while_one_sends_nobody_else_does(receiver: Receiver) -> None:
    """The receiver takes its time until all others have looked for work and found none."""
    make_webhook(receiver.url)
    tell(make_endpoint())
    routing.route_notices()
    others = threading.Semaphore(0)

    def look() -> None:
        deliveries.send_due_deliveries()
        others.release()

    def answer(handler: Any) -> None:
        for _ in range(WORKERS - 1):
            others.acquire(timeout=10)
        handler.say(200)

    receiver.answers = [answer]
    at_once(look)

    assert len(receiver.received) == 1
    assert (the_delivery().state, the_delivery().tries) == ("sent", 1)


def test_of_several_workers_one_reminds(receiver: Receiver) -> None:
    """A reminder is put once an interval, however many look at the same time."""
    endpoint = make_endpoint()
    make_webhook(receiver.url, remind_every=timedelta(hours=1))
    make_incident(endpoint)
    pass_time(timedelta(hours=2))

    at_once(reminders.send_reminders, deliveries.send_due_deliveries)

    assert [got.json()["type"] for got in receiver.received] == ["incident.reminder"]


def test_a_message_whose_worker_was_killed_is_sent_again_under_its_id(
    receiver: Receiver, tmp_path: Path, settings: Any
) -> None:
    """The receiver had it, the worker could not note that: the id tells it is the same."""
    made = make_webhook(receiver.url)
    tell(make_endpoint())
    routing.route_notices()
    worker: list[int] = []
    receiver.answers = [lambda handler: os.kill(worker[0], signal.SIGKILL)]

    env = {"EGRESS_GRANTS": "127.0.0.1", "PUBLIC_URL": settings.PUBLIC_URL}
    env["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with process([sys.executable, "-c", SENDING], tmp_path / "worker.log", **env) as live:
        worker.append(live.process.pid)
        eventually(lambda: live.process.poll() is not None)

    assert (len(receiver.received), the_delivery().state) == (1, "waiting")
    assert deliveries.send_due_deliveries() == 0, "its lease is kept"
    make_due()
    assert turn() == 1

    first, second = receiver.received
    assert first.id == second.id
    assert first.verified(made.secret) == second.verified(made.secret)
    assert the_delivery().state == "sent"


def test_whoever_lost_its_lease_writes_nothing(receiver: Receiver) -> None:
    """A worker that comes back from the dead cannot undo what another one did."""
    make_webhook(receiver.url)
    tell(make_endpoint())
    routing.route_notices()
    slow = deliveries._claim_delivery()
    assert slow is not None
    make_due()
    assert deliveries.send_due_deliveries() == 1

    receiver.answers = [500]
    deliveries._store_result(slow, deliveries._send_delivery(slow))

    delivery = the_delivery()
    assert (delivery.state, delivery.last_status, delivery.last_error) == ("sent", 200, "")


def test_a_last_try_that_never_came_back_has_failed(receiver: Receiver) -> None:
    """A delivery that takes its worker along each time ends some day."""
    make_webhook(receiver.url)
    tell(make_endpoint())
    routing.route_notices()
    for _ in range(deliveries.MAX_TRIES):
        assert deliveries._claim_delivery()
        make_due()

    assert deliveries.send_due_deliveries() == 0

    assert (the_delivery().state, receiver.received) == ("failed", [])
    assert "did not come back" in the_delivery().last_error


def test_the_task_does_it_all_and_holds_nobody_up(receiver: Receiver) -> None:
    """Route, remind, send; no more than so many at once, and the rest at the next turn."""
    endpoint = make_endpoint()
    for number in range(25):
        make_webhook(receiver.url, name=f"c{number}")
    tell(endpoint, severity=3)

    notify()
    first = len(receiver.received)
    notify()

    assert (first, len(receiver.received)) == (20, 25)
