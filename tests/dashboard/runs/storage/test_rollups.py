from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection, transaction

from dashboard.core import partitions
from dashboard.models import ObservationBatch
from dashboard.runs import observations, rollups
from probes.outcomes import Metric
from tests.dashboard.runs.storage.builders import (
    LEVELS,
    assert_rolled_up,
    build_observation,
    call_concurrently,
    roll_up_all,
    sql,
    store_observations,
    stored_counts,
)

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)


@pytest.mark.django_db
def test_every_metric_is_counted_in_every_level() -> None:
    """Each verdict of a row is one trial of its metric, and a bad verdict is a failure."""
    good = build_observation(at=NOON, **{metric.value: True for metric in Metric})
    bad = build_observation(
        at=NOON + timedelta(minutes=7), **{metric.value: False for metric in Metric}
    )
    store_observations(good, bad, bad)

    assert rollups.roll_up() == 1

    assert_rolled_up([good, bad, bad])
    assert [len(stored_counts(level)) for level in LEVELS] == [
        2 * len(Metric),
        len(Metric),
        len(Metric),
    ]


@pytest.mark.django_db
def test_batches_add_up() -> None:
    """Later batches are added to the counts of a bucket."""
    rows = [build_observation(at=NOON + timedelta(minutes=minute)) for minute in range(0, 90, 10)]
    for row in rows:
        store_observations(row)
        rollups.roll_up()

    assert_rolled_up(rows)


@pytest.mark.django_db
def test_a_roll_up_claims_at_most_its_limit() -> None:
    """A limit keeps the transaction short; the oldest batches go first."""
    for _ in range(5):
        store_observations(build_observation())

    assert [rollups.roll_up(limit=2) for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.django_db
def test_big_batches_are_rolled_up_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction is also limited by rows, but takes at least one batch."""
    monkeypatch.setattr(rollups, "MAX_ROWS", 3)
    for size in (2, 1, 9, 1):
        store_observations(*[build_observation()] * size)

    assert [rollups.roll_up() for _ in range(4)] == [2, 1, 1, 0]


@pytest.mark.usefixtures("whole_store")
def test_a_late_event_is_counted_in_its_own_bucket() -> None:
    """The time of the event decides the bucket, also in months without a partition."""
    late = [build_observation(at=NOON - timedelta(days=days)) for days in (0, 45, 400)]
    store_observations(*late)

    roll_up_all()

    assert_rolled_up(late)


@pytest.mark.django_db(transaction=True)
def test_concurrent_callers_roll_up_each_batch_once() -> None:
    """With concurrent callers every batch is added exactly once."""
    rows = [build_observation(profile=number % 3) for number in range(60)]
    for row in rows:
        store_observations(row)

    rolled = call_concurrently(4, lambda: sum(iter(lambda: rollups.roll_up(limit=3), 0)))

    assert sum(rolled) == 60
    assert_rolled_up(rows)


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_is_committed_late_is_not_missed() -> None:
    """A transaction that stores first and commits last is rolled up too."""
    stored, may_commit = threading.Event(), threading.Event()
    early, later = build_observation(profile=1), build_observation(profile=2)

    def slow_writer() -> None:
        with transaction.atomic():
            observations.store_batch([early], batch=uuid4())
            stored.set()
            may_commit.wait()
        connection.close()

    thread = threading.Thread(target=slow_writer)
    thread.start()
    stored.wait()
    store_observations(later)
    roll_up_all()
    assert_rolled_up([later])
    may_commit.set()
    thread.join()

    roll_up_all()

    assert_rolled_up([early, later])


@pytest.mark.django_db(transaction=True)
def test_rolled_and_added_are_one_step() -> None:
    """A roll-up that is rolled back leaves its batches pending and its buckets unchanged."""
    row = build_observation()
    store_observations(row)

    with transaction.atomic():
        assert rollups.roll_up() == 1
        transaction.set_rollback(True)

    assert_rolled_up([])
    roll_up_all()
    assert_rolled_up([row])


@pytest.mark.django_db
def test_lag_is_the_age_of_the_oldest_pending_batch() -> None:
    """There is no lag when all batches are rolled up."""
    assert rollups.read_lag() is None
    store_observations(build_observation())
    store_observations(build_observation())
    oldest = ObservationBatch.objects.order_by("id")[:1]
    ObservationBatch.objects.filter(pk__in=oldest).update(
        at=datetime.now(UTC) - timedelta(minutes=9)
    )

    lag = rollups.read_lag()

    assert lag is not None
    assert timedelta(minutes=9) <= lag < timedelta(minutes=10)


@pytest.mark.django_db
def test_a_recount_agrees_with_rollups_that_are_right() -> None:
    """Pending batches are not a mismatch."""
    store_observations(
        *(build_observation(at=NOON + timedelta(minutes=minute)) for minute in range(30))
    )
    roll_up_all()
    store_observations(build_observation(at=NOON))

    assert rollups.recount_day(NOON.date()) == []


@pytest.mark.django_db
def test_a_recount_finds_every_mismatch() -> None:
    """A changed, an extra and a missing bucket are all found."""
    store_observations(
        build_observation(profile=1, at=NOON), build_observation(profile=2, at=NOON, leak=False)
    )
    roll_up_all()
    sql("UPDATE dashboard_rollup5m SET failures = 1 WHERE profile_id = 1")
    sql("UPDATE dashboard_rolluphour SET profile_id = 3 WHERE profile_id = 1")
    sql("DELETE FROM dashboard_rollupday WHERE profile_id = 2")

    mismatches = rollups.recount_day(NOON.date())

    leak = list(Metric).index(Metric.LEAK)
    assert [
        (it.level, it.profile_id, it.metric, it.lane, it.counted, it.stored) for it in mismatches
    ] == [
        ("5m", 1, 0, 1, (1, 0), (1, 1)),
        ("day", 2, leak, 1, (1, 1), (0, 0)),
        ("hour", 1, 0, 1, (1, 0), (0, 0)),
        ("hour", 3, 0, 1, (0, 0), (1, 0)),
    ]


@pytest.mark.django_db
def test_a_day_without_its_raw_rows_is_not_recounted() -> None:
    """Expired raw rows are refused instead of reported as a mismatch."""
    with pytest.raises(ValueError, match="not kept any more"):
        rollups.recount_day(partitions.database_today() - timedelta(days=14))
