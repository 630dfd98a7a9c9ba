"""Concurrent workers and workers that die."""

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
    make_notice,
    make_webhook,
    only_delivery,
    pass_time,
    route_and_send,
)
from tests.dashboard.notifications.receiver import Receiver
from tests.factories import make_endpoint
from tests.live import eventually, process
from workers.notifying import notify

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4
SEND_SCRIPT = """
import django; django.setup()
from dashboard.notifications.services import deliveries
deliveries.send_due_deliveries()
"""


def run_concurrently(*functions: object) -> None:
    """Run the functions in several threads, each with its own connection."""
    barrier = threading.Barrier(WORKERS)
    errors: list[Exception] = []

    def work() -> None:
        try:
            barrier.wait()
            for function in functions:
                assert callable(function)
                function()
        except Exception as exc:  # noqa: BLE001 -- asserted below
            errors.append(exc)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_concurrent_workers_send_once(receiver: Receiver) -> None:
    """Every delivery is sent once."""
    endpoint = make_endpoint()
    make_webhook(receiver.url, name="one")
    make_webhook(receiver.url, name="two")
    for number in range(10):
        make_notice(endpoint, "mode.changed", title=f"n{number}")

    run_concurrently(routing.route_notices, deliveries.send_due_deliveries)

    titles = [
        each["title"] for request in receiver.received for each in request.json()["data"]["notices"]
    ]
    assert sorted(titles) == sorted([f"n{number}" for number in range(10)] * 2)
    assert len(set(receiver.ids())) == len(receiver.received)
    assert set(Delivery.objects.values_list("state", "tries")) == {("sent", 1)}


def test_a_leased_delivery_is_not_sent_by_others(receiver: Receiver) -> None:
    """The receiver responds after all other workers found no work."""
    make_webhook(receiver.url)
    make_notice(make_endpoint())
    routing.route_notices()
    finished = threading.Semaphore(0)

    def send_and_signal() -> None:
        deliveries.send_due_deliveries()
        finished.release()

    def respond_after_others(handler: Any) -> None:
        for _ in range(WORKERS - 1):
            finished.acquire(timeout=10)
        handler.respond(200)

    receiver.responses = [respond_after_others]
    run_concurrently(send_and_signal)

    assert len(receiver.received) == 1
    assert (only_delivery().state, only_delivery().tries) == ("sent", 1)


def test_concurrent_workers_remind_once(receiver: Receiver) -> None:
    """A reminder is queued once per interval."""
    endpoint = make_endpoint()
    make_webhook(receiver.url, remind_every=timedelta(hours=1))
    make_incident(endpoint)
    pass_time(timedelta(hours=2))

    run_concurrently(reminders.send_reminders, deliveries.send_due_deliveries)

    assert [request.json()["type"] for request in receiver.received] == ["incident.reminder"]


def test_after_a_killed_worker_the_message_is_sent_again_with_its_id(
    receiver: Receiver, tmp_path: Path, settings: Any
) -> None:
    """The receiver can detect the duplicate by its id."""
    webhook = make_webhook(receiver.url)
    make_notice(make_endpoint())
    routing.route_notices()
    worker: list[int] = []
    receiver.responses = [lambda handler: os.kill(worker[0], signal.SIGKILL)]

    env = {"EGRESS_GRANTS": "127.0.0.1", "PUBLIC_URL": settings.PUBLIC_URL}
    env["DJANGO_SETTINGS_MODULE"] = "config.settings"
    with process([sys.executable, "-c", SEND_SCRIPT], tmp_path / "worker.log", **env) as live:
        worker.append(live.process.pid)
        eventually(lambda: live.process.poll() is not None)

    assert (len(receiver.received), only_delivery().state) == (1, "waiting")
    assert deliveries.send_due_deliveries() == 0, "its lease is kept"
    make_due()
    assert route_and_send() == 1

    first, second = receiver.received
    assert first.id == second.id
    assert first.verify(webhook.secret) == second.verify(webhook.secret)
    assert only_delivery().state == "sent"


def test_a_worker_without_its_lease_writes_nothing(receiver: Receiver) -> None:
    """A late result does not overwrite that of another worker."""
    make_webhook(receiver.url)
    make_notice(make_endpoint())
    routing.route_notices()
    stale_lease = deliveries._claim_delivery()
    assert stale_lease is not None
    make_due()
    assert deliveries.send_due_deliveries() == 1

    receiver.responses = [500]
    deliveries._store_result(stale_lease, deliveries._send_delivery(stale_lease))

    delivery = only_delivery()
    assert (delivery.state, delivery.last_status, delivery.last_error) == ("sent", 200, "")


def test_a_lost_last_try_is_a_failure(receiver: Receiver) -> None:
    """A delivery that kills its worker at each try ends as failed."""
    make_webhook(receiver.url)
    make_notice(make_endpoint())
    routing.route_notices()
    for _ in range(deliveries.MAX_TRIES):
        assert deliveries._claim_delivery()
        make_due()

    assert deliveries.send_due_deliveries() == 0

    assert (only_delivery().state, receiver.received) == ("failed", [])
    assert "did not come back" in only_delivery().last_error


def test_the_task_routes_and_sends_in_batches(receiver: Receiver) -> None:
    """One call sends up to 20 deliveries, the next call the rest."""
    endpoint = make_endpoint()
    for number in range(25):
        make_webhook(receiver.url, name=f"c{number}")
    make_notice(endpoint, severity=3)

    notify()
    first = len(receiver.received)
    notify()

    assert (first, len(receiver.received)) == (20, 25)
