"""Hashing passwords is bounded, and holds no database connection."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from typing_extensions import override

from dashboard.accounts import hashing
from dashboard.accounts.hashing import HashingBusy, HashingQueue, QueuedArgon2Hasher
from dashboard.people.services import people
from tests.factories import make_person
from tests.live import eventually
from tests.markup import assert_contains
from tests.security.people import PASSWORD, sign_in

pytestmark = pytest.mark.usefixtures("static_files")
OTHER = "another battery of horses"


class RecordingHasher(QueuedArgon2Hasher):
    """Records for each hash whether a transaction, and so a connection, was open."""

    in_transaction: ClassVar[list[bool]] = []

    @override
    def encode(self, password: str, salt: str) -> str:
        self.in_transaction.append(connection.in_atomic_block)
        return super().encode(password, salt)

    @override
    def verify(self, password: str, encoded: str) -> bool:
        self.in_transaction.append(connection.in_atomic_block)
        return super().verify(password, encoded)


@contextmanager
def occupied(queue: HashingQueue, count: int) -> Iterator[None]:
    """So many places of the queue are taken for as long as the block lasts."""
    end = threading.Event()
    with ThreadPoolExecutor(count) as threads:
        taken = [threads.submit(queue.run, end.wait) for _ in range(count)]
        try:
            eventually(lambda: queue.places_taken == count)
            yield
        finally:
            end.set()
        assert all(each.result() for each in taken)


def in_thread(threads: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
    """Run it as a request does: in a thread with a database connection of its own."""

    def run() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return threads.submit(run)


def foreign_connections() -> int:
    """Connections to this database, besides the one that asks."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_no_password_is_hashed_with_a_connection_in_hand() -> None:
    """Whatever checks or sets a password gives its connection back first."""
    bob, root = make_person("bob", password=PASSWORD), User.objects.create_superuser("root")
    link = people.create_password_link(make_person("eve"), by=root)
    inside = Client()
    inside.force_login(bob)
    chosen = {"new_password1": OTHER, "new_password2": OTHER}
    ways: list[Callable[[], Any]] = [
        lambda: sign_in(Client()),
        lambda: sign_in(Client(), "nobody-here"),
        lambda: inside.post("/confirm/", {"password": PASSWORD}),
        lambda: Client().post(f"/invitations/{link.text}/", chosen),
    ]
    before = foreign_connections()

    with ThreadPoolExecutor(len(ways)) as threads:
        with occupied(hashing.QUEUE, 1):
            answers = [in_thread(threads, way) for way in ways]
            eventually(lambda: hashing.QUEUE.places_taken == 1 + len(ways))
            held = foreign_connections()
        statuses = [answer.result().status_code for answer in answers]

    assert held == before
    assert statuses == [302, 200, 302, 302]
    assert sign_in(Client(), "eve", OTHER).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_no_password_is_hashed_inside_a_transaction(settings: Any) -> None:
    """Its connection could not be given back, and rows would stay locked."""
    settings.PASSWORD_HASHERS = [f"{RecordingHasher.__module__}.{RecordingHasher.__qualname__}"]
    bob, root = make_person("bob", password=PASSWORD), User.objects.create_superuser("root")
    link = people.create_password_link(make_person("eve"), by=root)
    chosen = {"new_password1": OTHER, "new_password2": OTHER}
    client = Client()
    RecordingHasher.in_transaction.clear()

    sign_in(client)
    sign_in(Client(), "nobody-here")
    client.post("/confirm/", {"password": PASSWORD})
    client.post("/settings/password/", {"old_password": PASSWORD, **chosen})
    Client().post(f"/invitations/{link.text}/", chosen)

    assert RecordingHasher.in_transaction == [False] * 6
    bob.refresh_from_db()
    assert bob.check_password(OTHER)


@pytest.mark.django_db
def test_a_full_queue_is_answered_by_503() -> None:
    """With a page that says to come back, and nothing is counted as a failure."""
    bob = make_person("bob", password=PASSWORD)
    inside = Client()
    inside.force_login(bob)

    with occupied(hashing.QUEUE, hashing.QUEUE.places):
        answers = [sign_in(Client()), inside.post("/confirm/", {"password": PASSWORD})]

    for answer in answers:
        assert_contains(answer, "Yours was not checked", status_code=503)
        assert int(answer.headers["Retry-After"]) > 0
    assert sign_in(Client()).status_code == 302


def test_so_many_run_at_once_and_so_many_wait() -> None:
    """Memory is bounded by the hashes that run at once; further ones are refused."""
    queue = HashingQueue(at_once=2, waiting=1)
    running, lock, most = [0], threading.Lock(), [0]

    def work() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        release.wait()
        with lock:
            running[0] -= 1

    release = threading.Event()
    with ThreadPoolExecutor(3) as threads:
        taken = [threads.submit(queue.run, work) for _ in range(3)]
        eventually(lambda: queue.places_taken == 3 and running[0] == 2)
        with pytest.raises(HashingBusy):
            queue.run(work)
        release.set()
        for each in taken:
            each.result()

    assert most == [2]
    assert queue.run(lambda: "free again") == "free again"
