from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security.doorkeeper import Doorkeeper, serve
from tests.security.people import Log


@pytest.fixture(autouse=True)
def log_begins(request: pytest.FixtureRequest) -> None:
    if "db" in request.fixturenames:
        request.getfixturevalue("db")
        Log.begin()


@pytest.fixture(scope="module")
def everywhere() -> Iterator[Doorkeeper]:
    """Listens on every address of this machine."""
    yield from serve("0.0.0.0")


@pytest.fixture
def one() -> Iterator[Doorkeeper]:
    yield from serve("127.0.0.1")


@pytest.fixture
def two() -> Iterator[Doorkeeper]:
    yield from serve("127.0.0.2")
