from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security.people import AuditStart
from tests.security.recording_server import RecordingServer, run_server


@pytest.fixture(autouse=True)
def mark_audit_start(request: pytest.FixtureRequest) -> None:
    if "db" in request.fixturenames:
        request.getfixturevalue("db")
        AuditStart.begin()


@pytest.fixture(scope="module")
def wildcard_server() -> Iterator[RecordingServer]:
    """Listens on every address of this machine."""
    yield from run_server("0.0.0.0")


@pytest.fixture
def first_server() -> Iterator[RecordingServer]:
    yield from run_server("127.0.0.1")


@pytest.fixture
def second_server() -> Iterator[RecordingServer]:
    yield from run_server("127.0.0.2")
