from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction

from dashboard.core import partitions
from dashboard.models import ObservationBatch
from dashboard.models.observation import Observation
from dashboard.runs import observations
from dashboard.runs.observations import PROBE
from tests.dashboard.runs.storage.builders import (
    build_observation,
    call_concurrently,
    count_overflow,
    count_raw,
    roll_up_all,
    sql,
    store_observations,
)

FULL = Observation(
    profile_id=3,
    key_epoch=2,
    lane=PROBE,
    verdicts=0b1001,
    event_at=datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC),
    run_id=2**40,
    client_id=5,
    policy_version=6,
    latency_ms=1234,
    first_byte_ms=56,
    input_tokens=789,
    output_tokens=12,
    http_status=200,
    end_reason=1,
    request_id=UUID("0b5f1c52-8f0b-4a55-9a2e-6a5f4a1a9b11"),
)
BARE = Observation(3, 2, PROBE, 1, datetime(2026, 3, 4, tzinfo=UTC))


@pytest.fixture
def no_partition_today(whole_store: None) -> None:
    sql(f"DROP TABLE dashboard_observation_{partitions.database_today():%Y%m%d}")


@pytest.mark.django_db
@pytest.mark.parametrize("row", [FULL, BARE], ids=["full", "bare"])
def test_a_row_is_read_back_unchanged(row: Observation) -> None:
    """Every column holds the value of the observation, also null."""
    store_observations(row)

    columns = ", ".join(Observation._fields)
    (row_values,) = sql(f"SELECT {columns} FROM dashboard_observation")  # noqa: S608
    assert Observation(*row_values) == row


@pytest.mark.django_db
def test_rows_carry_the_time_of_their_batch() -> None:
    """All rows of a batch have its time, so they are in one partition."""
    store_observations(FULL, BARE)

    batch = ObservationBatch.objects.get()
    assert batch.rows == 2
    assert batch.rolled_at is None
    assert sql("SELECT at, batch_id FROM dashboard_observation") == [(batch.at, batch.pk)] * 2


@pytest.mark.django_db
def test_a_batch_that_comes_again_is_stored_once() -> None:
    """The second call with the same batch id writes nothing and returns False."""
    batch = uuid4()

    assert observations.store_batch([FULL], batch=batch)
    assert not observations.store_batch([FULL, BARE], batch=batch)

    assert count_raw() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_store_a_batch_once() -> None:
    """Of concurrent writers with the same batch, exactly one stores it."""
    batch = uuid4()

    stored = call_concurrently(4, lambda: observations.store_batch([FULL] * 500, batch=batch))

    assert sorted(stored) == [False, False, False, True]
    assert count_raw() == 500


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_batch_can_be_stored_again() -> None:
    """A batch in a transaction that was rolled back counts as never stored."""
    batch = uuid4()

    with transaction.atomic():
        observations.store_batch([FULL], batch=batch)
        transaction.set_rollback(True)

    assert count_raw() == 0
    assert observations.store_batch([FULL], batch=batch)
    assert count_raw() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    "wrong",
    [
        {"event_at": datetime(1999, 12, 31, tzinfo=UTC)},
        {"event_at": datetime(2201, 1, 1, tzinfo=UTC)},
        {"latency_ms": 2**31},
        {"http_status": 2**15},
    ],
    ids=["too-early", "too-late", "too-slow", "no-status"],
)
def test_a_value_that_no_column_holds_is_refused(wrong: dict[str, Any]) -> None:
    """The value is not truncated, and nothing of its batch is stored."""
    (name,) = wrong

    with pytest.raises(ValueError, match=f"^{name} has a value"):
        store_observations(FULL, BARE._replace(**wrong))

    assert not ObservationBatch.objects.exists()


@pytest.mark.usefixtures("no_partition_today")
def test_without_a_partition_rows_go_to_the_overflow_and_back() -> None:
    """No row is lost while today's partition is missing."""
    store_observations(FULL, BARE)
    assert (count_raw(), count_overflow()) == (0, 2)
    before = sql("SELECT * FROM dashboard_observation_overflow ORDER BY verdicts")

    created = partitions.ensure_partitions()

    assert created == [f"dashboard_observation_{partitions.database_today():%Y%m%d}"]
    assert (count_raw(), count_overflow()) == (2, 0)
    assert sql("SELECT * FROM dashboard_observation ORDER BY verdicts") == before


@pytest.mark.usefixtures("no_partition_today")
def test_the_overflow_is_drained_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call moves one batch of rows."""
    monkeypatch.setattr(partitions, "DRAIN_BATCH", 2)
    store_observations(FULL, BARE, FULL)

    partitions.ensure_partitions()
    assert (count_raw(), count_overflow()) == (2, 1)

    partitions.ensure_partitions()
    assert (count_raw(), count_overflow()) == (3, 0)


@pytest.mark.usefixtures("no_partition_today")
def test_rows_in_the_overflow_are_rolled_up_once() -> None:
    """Moving rows between the tables neither hides them nor counts them twice."""
    store_observations(build_observation())
    roll_up_all()
    store_observations(build_observation())

    partitions.ensure_partitions()
    roll_up_all()

    assert sql("SELECT sum(trials) FROM dashboard_rollupday") == [(2,)]
