from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from dashboard.core import partitions
from tests.dashboard.runs.storage.builders import sql


@pytest.fixture
def whole_store(transactional_db: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """For tests that create or drop partitions; restores the partitions afterwards."""
    before = _existing()
    yield
    with django_db_blocker.unblock():
        for part in _existing() - before:
            sql(f"DROP TABLE {part.name}")
        partitions.ensure_partitions()


def _existing() -> set[partitions.Partition]:
    parents = (*partitions.MONTHLY, *partitions.DAILY)
    return {part for parent in parents for part in partitions.existing_partitions(parent)}
