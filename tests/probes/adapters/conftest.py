from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.probes.adapters.loopback import Loopback, run_server


@pytest.fixture(scope="session")
def loopback_server() -> Iterator[Loopback]:
    """One server for all adapter tests of a run."""
    with run_server() as loopback:
        yield loopback


@pytest.fixture
def loopback(loopback_server: Loopback) -> Loopback:
    """A local server without queued answers or recorded requests."""
    loopback_server.reset()
    return loopback_server
