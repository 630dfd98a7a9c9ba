from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from redis import Redis

from dashboard.models import Endpoint
from dashboard.models.people import Role
from tests.dashboard.system.builders import make_healthy_system
from tests.factories import make_person
from tests.live import broker


@pytest.fixture(autouse=True)
def _hashed_files(static_files: Path) -> None:
    """Pages link to static files by their hash."""


@pytest.fixture
def healthy(db: None) -> Endpoint:
    """The endpoint of a system without problems."""
    return make_healthy_system()


@pytest.fixture
def signed_in(client: Client, db: None) -> Client:
    client.force_login(make_person("alice", Role.OPERATOR))
    return client


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The port of the broker is closed."""
    monkeypatch.setenv("CELERY_BROKER_WRITE_URL", "redis://127.0.0.1:9/0")


@pytest.fixture
def redis() -> Iterator[Redis]:
    """The broker of the tests, emptied."""
    client = broker()
    client.flushdb()
    yield client
    client.flushdb()
    client.close()
