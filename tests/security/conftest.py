from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security.doorkeeper import Doorkeeper, serve


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
