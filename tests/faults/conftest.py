"""Servers and vendors shared by all fault tests; a database and processes per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import migrated
from tests.faults.recording_vendor import Vendor, running_vendor
from tests.faults.servers import Servers, running_servers
from tests.faults.stack import Stack, open_stack


@pytest.fixture(scope="session")
def vendor() -> Iterator[Vendor]:
    with running_vendor() as vendor:
        yield vendor


@pytest.fixture(scope="session")
def servers(django_db_setup: None, vendor: Vendor) -> Iterator[Servers]:
    """Separate from the servers of other tests, because these are killed and flushed."""
    with running_servers(vendor, fill=migrated.copy_tables) as servers:
        yield servers


@pytest.fixture
def stack(servers: Servers, vendor: Vendor, tmp_path: Path) -> Iterator[Stack]:
    with open_stack(servers, vendor, tmp_path) as stack:
        yield stack
        # Pytest shows it only if the test failed.
        print(stack.logs())
