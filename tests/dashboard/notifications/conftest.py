from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dashboard.models import Endpoint
from tests.dashboard.notifications.receiver import Receiver, run_receiver
from tests.factories import make_endpoint


@pytest.fixture(autouse=True)
def _egress_grant(settings: Any) -> None:
    """Grant connections to the receivers on this machine; PUBLIC_URL is another host."""
    settings.EGRESS_GRANTS = "127.0.0.1"
    settings.PUBLIC_URL = "https://gauge.example"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with run_receiver() as server:
        yield server


@pytest.fixture
def other_receiver() -> Iterator[Receiver]:
    with run_receiver() as server:
        yield server


@pytest.fixture
def endpoint(db: None) -> Endpoint:
    return make_endpoint()
