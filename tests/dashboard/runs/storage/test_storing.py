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
    at_once,
    observe,
    overflow,
    raw,
    roll_all,
    sql,
    store,
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
def test_a_row_comes_back_as_it_was_given(row: Observation) -> None:
    """Every column holds what the observation said, nulls as well."""
    store(row)

    columns = ", ".join(Observation._fields)
    (found,) = sql(f"SELECT {columns} FROM dashboard_observation")  # noqa: S608
    assert Observation(*found) == row


@pytest.mark.django_db
def test_rows_carry_the_time_of_their_batch() -> None:
    """A batch lies in one partition and can be found by its time."""
    store(FULL, BARE)

    batch = ObservationBatch.objects.get()
    assert batch.rows == 2
    assert batch.rolled_at is None
    assert sql("SELECT at, batch_id FROM dashboard_observation") == [(batch.at, batch.pk)] * 2


@pytest.mark.django_db
def test_a_batch_that_comes_again_is_stored_once() -> None:
    """The same batch id writes nothing the second time, and says so."""
    batch = uuid4()

    assert observations.store_batch([FULL], batch=batch)
    assert not observations.store_batch([FULL, BARE], batch=batch)

    assert raw() == 1


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_comes_four_times_at_once_is_stored_once() -> None:
    """Writers with the same batch wait for each other; one of them stores it."""
    batch = uuid4()

    stored = at_once(4, lambda: observations.store_batch([FULL] * 500, batch=batch))

    assert sorted(stored) == [False, False, False, True]
    assert raw() == 500


@pytest.mark.django_db(transaction=True)
def test_what_the_caller_takes_back_may_come_again() -> None:
    """A batch of a transaction that was rolled back was never stored."""
    batch = uuid4()

    with transaction.atomic():
        observations.store_batch([FULL], batch=batch)
        transaction.set_rollback(True)

    assert raw() == 0
    assert observations.store_batch([FULL], batch=batch)
    assert raw() == 1


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
    """It is not cut to fit, and nothing of its batch is stored."""
    (name,) = wrong

    with pytest.raises(ValueError, match=f"^{name} has a value"):
        store(FULL, BARE._replace(**wrong))

    assert not ObservationBatch.objects.exists()


@pytest.mark.usefixtures("no_partition_today")
def test_without_a_partition_rows_go_to_the_overflow_and_home_again() -> None:
    """Nothing is lost while nobody made today's partition."""
    store(FULL, BARE)
    assert (raw(), overflow()) == (0, 2)
    before = sql("SELECT * FROM dashboard_observation_overflow ORDER BY verdicts")

    made = partitions.ensure_partitions()

    assert made == [f"dashboard_observation_{partitions.database_today():%Y%m%d}"]
    assert (raw(), overflow()) == (2, 0)
    assert sql("SELECT * FROM dashboard_observation ORDER BY verdicts") == before


@pytest.mark.usefixtures("no_partition_today")
def test_the_overflow_is_emptied_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look around moves a bearable part; the next ones go on."""
    monkeypatch.setattr(partitions, "DRAIN_BATCH", 2)
    store(FULL, BARE, FULL)

    partitions.ensure_partitions()
    assert (raw(), overflow()) == (2, 1)

    partitions.ensure_partitions()
    assert (raw(), overflow()) == (3, 0)


@pytest.mark.usefixtures("no_partition_today")
def test_rows_in_the_overflow_are_rolled_up_once() -> None:
    """Being moved between the tables neither hides rows nor counts them twice."""
    store(observe())
    roll_all()
    store(observe())

    partitions.ensure_partitions()
    roll_all()

    assert sql("SELECT sum(trials) FROM dashboard_rollupday") == [(2,)]
