from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dashboard.models import Endpoint
from tests.dashboard.notifications.receiver import Receiver, receiving
from tests.factories import make_endpoint


@pytest.fixture(autouse=True)
def granted(settings: Any) -> None:
    """The receivers of these tests are on this machine; the pages, for all they know, are not."""
    settings.EGRESS_GRANTS = "127.0.0.1"
    settings.PUBLIC_URL = "https://gauge.example"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


@pytest.fixture
def other() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint()
