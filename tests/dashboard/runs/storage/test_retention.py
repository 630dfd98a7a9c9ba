from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection

from dashboard.core import partitions
from dashboard.core.partitions import Attachment
from dashboard.models import ObservationBatch
from dashboard.system import retention
from tests.dashboard.runs.storage.builders import observe, raw, roll_all, sql, store
from tests.live import environment

pytestmark = pytest.mark.usefixtures("whole_store")


def aged(days: int) -> str:
    """Store one row as if it had been so many days ago; returns its partition's name."""
    store(observe())
    batch = ObservationBatch.objects.latest("id")
    at = batch.at - timedelta(days=days)
    ObservationBatch.objects.filter(pk=batch.pk).update(at=at)
    sql(
        "WITH taken AS (DELETE FROM dashboard_observation WHERE batch_id = %s RETURNING *) "
        "INSERT INTO dashboard_observation_overflow SELECT * FROM taken",
        batch.pk,
    )
    sql("UPDATE dashboard_observation_overflow SET at = %s", at)
    partitions.ensure_partitions()
    return f"dashboard_observation_{at:%Y%m%d}"


def there(parent: str) -> list[str]:
    return [part.name for part in partitions.existing_partitions(parent)]


def first_of_month(months_ago: int) -> date:
    month = partitions.database_today().replace(day=1)
    for _ in range(months_ago):
        month = (month - timedelta(days=1)).replace(day=1)
    return month


def test_days_go_when_their_time_is_over_and_they_are_rolled_up() -> None:
    """Fourteen whole days are kept, and rows that no rollup holds yet are kept for longer."""
    old, kept = aged(15), aged(14)
    roll_all()
    waiting = aged(20)

    assert retention.drop_expired_partitions() == [old]

    assert waiting in there("dashboard_observation")
    assert kept in there("dashboard_observation")
    assert raw() == 2
    roll_all()
    assert retention.drop_expired_partitions() == [waiting]
    assert sql("SELECT sum(trials) FROM dashboard_rollupday") == [(3,)]


def test_months_go_by_the_limit_of_their_table(settings: Any) -> None:
    """A month is dropped when all of it is older than what is kept, and not a day before."""
    limit = (partitions.database_today() - first_of_month(1)).days
    parents = {
        "dashboard_attempt": "KEEP_ATTEMPTS_DAYS",
        "dashboard_evidence": "KEEP_EVIDENCE_DAYS",
        "dashboard_rollup5m": "KEEP_5M_DAYS",
        "dashboard_rolluphour": "KEEP_HOURS_DAYS",
    }
    partitions.ensure_months([first_of_month(months) for months in (1, 2, 3)])
    for setting in parents.values():
        setattr(settings, setting, limit)

    dropped = retention.drop_expired_partitions()

    over = [f"{parent}_{first_of_month(m):%Y%m}" for parent in parents for m in (2, 3)]
    assert set(dropped) == set(over)
    for parent in parents:
        assert f"{parent}_{first_of_month(1):%Y%m}" in there(parent)


def test_nothing_of_today_goes() -> None:
    """A second call has nothing left to do, and what is made ahead stays."""
    store(observe())
    roll_all()
    retention.drop_expired_partitions()

    assert retention.drop_expired_partitions() == []
    assert partitions.missing_partitions() == []
    assert raw() == 1


@pytest.mark.parametrize("tie", [Attachment.LEAVING, Attachment.LOOSE])
def test_what_was_left_halfway_is_finished(tie: Attachment) -> None:
    """A crash between or within the steps is made good by the next call."""
    name = aged(20)
    roll_all()
    _leave(name, tie)
    assert tie in partitions.existing_partitions("dashboard_observation").values()

    assert retention.drop_expired_partitions() == [name]

    assert name not in there("dashboard_observation")


def test_a_partition_that_was_leaving_can_be_had_again() -> None:
    """Late rows for a month that is halfway gone find a place."""
    month = first_of_month(20)
    partitions.ensure_months([month], parents=["dashboard_rollup5m"])
    name = f"dashboard_rollup5m_{month:%Y%m}"
    _leave(name, Attachment.LEAVING)

    assert partitions.ensure_months([month], parents=["dashboard_rollup5m"]) == [name]

    ties = {
        part.name: tie for part, tie in partitions.existing_partitions("dashboard_rollup5m").items()
    }
    assert ties[name] is Attachment.ATTACHED


def test_batches_are_forgotten_after_their_rows() -> None:
    """They are kept as long as the same batch may come again."""
    for days in (20, 22, 23):
        aged(days)
    roll_all()
    aged(30)

    retention.drop_expired_partitions()

    ages = [
        (datetime.now(UTC) - batch.at).days for batch in ObservationBatch.objects.order_by("at")
    ]
    assert ages == [30, 20]


def _leave(name: str, tie: Attachment) -> None:
    """Detach a partition, or begin to: another transaction that reads it stands in the way."""
    parent, _, _ = name.rpartition("_")
    if tie is Attachment.LOOSE:
        sql(f"ALTER TABLE {parent} DETACH PARTITION {name} CONCURRENTLY")
        return
    with psycopg.connect(environment()["DATABASE_URL"]) as reader:
        reader.execute(f"SELECT 1 FROM {parent}")  # noqa: S608
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
            with pytest.raises(Exception, match="lock timeout"):
                cursor.execute(f"ALTER TABLE {parent} DETACH PARTITION {name} CONCURRENTLY")
            cursor.execute("RESET lock_timeout")


def test_a_clock_that_jumped_ahead_does_not_take_everything_at_once() -> None:
    """There is time to see it: a turn takes the three oldest partitions of a table."""
    days = [aged(days) for days in (24, 23, 22, 21, 20)]
    roll_all()

    assert retention.drop_expired_partitions() == days[:3]
    assert retention.drop_expired_partitions() == days[3:]
