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
    assert_rolled,
    at_once,
    held,
    observe,
    roll_all,
    sql,
    store,
)

NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2)


@pytest.mark.django_db
def test_every_metric_is_counted_in_every_level() -> None:
    """Each verdict of a row is one trial of its metric, and bad ones are failures."""
    good = observe(at=NOON, **{metric.value: True for metric in Metric})
    bad = observe(at=NOON + timedelta(minutes=7), **{metric.value: False for metric in Metric})
    store(good, bad, bad)

    assert rollups.roll_up() == 1

    assert_rolled([good, bad, bad])
    assert [len(held(level)) for level in LEVELS] == [22, 11, 11]


@pytest.mark.django_db
def test_batches_add_up() -> None:
    """What comes later is added to what a bucket holds."""
    rows = [observe(at=NOON + timedelta(minutes=minute)) for minute in range(0, 90, 10)]
    for row in rows:
        store(row)
        rollups.roll_up()

    assert_rolled(rows)


@pytest.mark.django_db
def test_no_more_batches_than_asked_for_are_taken() -> None:
    """A caller can keep its transaction short; the oldest go first."""
    for _ in range(5):
        store(observe())

    assert [rollups.roll_up(limit=2) for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.django_db
def test_big_batches_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction is kept short by rows too, and yet takes one batch at least."""
    monkeypatch.setattr(rollups, "MAX_ROWS", 3)
    for size in (2, 1, 9, 1):
        store(*[observe()] * size)

    assert [rollups.roll_up() for _ in range(4)] == [2, 1, 1, 0]


@pytest.mark.usefixtures("whole_store")
def test_a_late_event_lands_where_it_belongs() -> None:
    """Buckets go by when a thing happened, in months that have no partition yet, too."""
    late = [observe(at=NOON - timedelta(days=days)) for days in (0, 45, 400)]
    store(*late)

    roll_all()

    assert_rolled(late)


@pytest.mark.django_db(transaction=True)
def test_callers_at_once_roll_up_each_batch_once() -> None:
    """However many roll up together, every batch is added exactly once."""
    rows = [observe(profile=number % 3) for number in range(60)]
    for row in rows:
        store(row)

    rolled = at_once(4, lambda: sum(iter(lambda: rollups.roll_up(limit=3), 0)))

    assert sum(rolled) == 60
    assert_rolled(rows)


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_is_committed_late_is_not_missed() -> None:
    """A long transaction may store first and commit last."""
    stored, go_on = threading.Event(), threading.Event()
    early, later = observe(profile=1), observe(profile=2)

    def slow_writer() -> None:
        with transaction.atomic():
            observations.store_batch([early], batch=uuid4())
            stored.set()
            go_on.wait()
        connection.close()

    thread = threading.Thread(target=slow_writer)
    thread.start()
    stored.wait()
    store(later)
    roll_all()
    assert_rolled([later])
    go_on.set()
    thread.join()

    roll_all()

    assert_rolled([early, later])


@pytest.mark.django_db(transaction=True)
def test_rolled_and_added_are_one_step() -> None:
    """A roll-up that is taken back leaves its batches waiting and its buckets untouched."""
    row = observe()
    store(row)

    with transaction.atomic():
        assert rollups.roll_up() == 1
        transaction.set_rollback(True)

    assert_rolled([])
    roll_all()
    assert_rolled([row])


@pytest.mark.django_db
def test_lag_is_the_age_of_the_oldest_batch_that_waits() -> None:
    """There is none when all is rolled up."""
    assert rollups.read_lag() is None
    store(observe())
    store(observe())
    oldest = ObservationBatch.objects.order_by("id")[:1]
    ObservationBatch.objects.filter(pk__in=oldest).update(
        at=datetime.now(UTC) - timedelta(minutes=9)
    )

    lag = rollups.read_lag()

    assert lag is not None
    assert timedelta(minutes=9) <= lag < timedelta(minutes=10)


@pytest.mark.django_db
def test_a_recount_agrees_with_rollups_that_are_right() -> None:
    """Batches that still wait are no difference."""
    store(*(observe(at=NOON + timedelta(minutes=minute)) for minute in range(30)))
    roll_all()
    store(observe(at=NOON))

    assert rollups.recount_day(NOON.date()) == []


@pytest.mark.django_db
def test_a_recount_tells_what_is_wrong() -> None:
    """A figure that was changed, one too many and one that is missing are all found."""
    store(observe(profile=1, at=NOON), observe(profile=2, at=NOON, leak=False))
    roll_all()
    sql("UPDATE dashboard_rollup5m SET failures = 1 WHERE profile_id = 1")
    sql("UPDATE dashboard_rolluphour SET profile_id = 3 WHERE profile_id = 1")
    sql("DELETE FROM dashboard_rollupday WHERE profile_id = 2")

    found = rollups.recount_day(NOON.date())

    leak = list(Metric).index(Metric.LEAK)
    assert [
        (it.level, it.profile_id, it.metric, it.lane, it.counted, it.stored) for it in found
    ] == [
        ("5m", 1, 0, 1, (1, 0), (1, 1)),
        ("day", 2, leak, 1, (1, 1), (0, 0)),
        ("hour", 1, 0, 1, (1, 0), (0, 0)),
        ("hour", 3, 0, 1, (0, 0), (1, 0)),
    ]


@pytest.mark.django_db
def test_a_day_without_its_raw_rows_is_not_recounted() -> None:
    """What is gone cannot be counted, and must not look like a difference."""
    with pytest.raises(ValueError, match="not kept any more"):
        rollups.recount_day(partitions.database_today() - timedelta(days=14))
