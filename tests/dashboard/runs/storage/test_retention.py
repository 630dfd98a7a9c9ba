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
from tests.dashboard.runs.storage.builders import (
    build_observation,
    count_raw,
    roll_up_all,
    sql,
    store_observations,
)
from tests.live import environment

pytestmark = pytest.mark.usefixtures("whole_store")


def store_aged(days: int) -> str:
    """Store one row with this age; returns the name of its partition."""
    store_observations(build_observation())
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


def partition_names(parent: str) -> list[str]:
    return [part.name for part in partitions.existing_partitions(parent)]


def first_of_month(months_ago: int) -> date:
    month = partitions.database_today().replace(day=1)
    for _ in range(months_ago):
        month = (month - timedelta(days=1)).replace(day=1)
    return month


def test_expired_days_are_dropped_once_they_are_rolled_up() -> None:
    """Fourteen whole days are kept, and longer if their rows are not rolled up yet."""
    old, kept = store_aged(15), store_aged(14)
    roll_up_all()
    waiting = store_aged(20)

    assert retention.drop_expired_partitions() == [old]

    assert waiting in partition_names("dashboard_observation")
    assert kept in partition_names("dashboard_observation")
    assert count_raw() == 2
    roll_up_all()
    assert retention.drop_expired_partitions() == [waiting]
    assert sql("SELECT sum(trials) FROM dashboard_rollupday") == [(3,)]


def test_months_are_dropped_by_the_limit_of_their_table(settings: Any) -> None:
    """A month is dropped when its last day has expired, and not a day earlier."""
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
        assert f"{parent}_{first_of_month(1):%Y%m}" in partition_names(parent)


def test_current_partitions_are_not_dropped() -> None:
    """A second call drops nothing, and partitions created in advance stay."""
    store_observations(build_observation())
    roll_up_all()
    retention.drop_expired_partitions()

    assert retention.drop_expired_partitions() == []
    assert partitions.missing_partitions() == []
    assert count_raw() == 1


@pytest.mark.parametrize("tie", [Attachment.LEAVING, Attachment.LOOSE])
def test_an_interrupted_detach_is_finished(tie: Attachment) -> None:
    """The next call completes a drop that a crash interrupted."""
    name = store_aged(20)
    roll_up_all()
    _begin_detach(name, tie)
    assert tie in partitions.existing_partitions("dashboard_observation").values()

    assert retention.drop_expired_partitions() == [name]

    assert name not in partition_names("dashboard_observation")


def test_a_partition_being_detached_can_be_attached_again() -> None:
    """Late rows of a month whose detach was interrupted can be stored."""
    month = first_of_month(20)
    partitions.ensure_months([month], parents=["dashboard_rollup5m"])
    name = f"dashboard_rollup5m_{month:%Y%m}"
    _begin_detach(name, Attachment.LEAVING)

    assert partitions.ensure_months([month], parents=["dashboard_rollup5m"]) == [name]

    ties = {
        part.name: tie for part, tie in partitions.existing_partitions("dashboard_rollup5m").items()
    }
    assert ties[name] is Attachment.ATTACHED


def test_batches_are_deleted_after_their_rows() -> None:
    """A batch is kept for as long as it may be sent again."""
    for days in (20, 22, 23):
        store_aged(days)
    roll_up_all()
    store_aged(30)

    retention.drop_expired_partitions()

    ages = [
        (datetime.now(UTC) - batch.at).days for batch in ObservationBatch.objects.order_by("at")
    ]
    assert ages == [30, 20]


def _begin_detach(name: str, tie: Attachment) -> None:
    """Detach a partition, or start to: a concurrent reader blocks the rest."""
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


def test_a_clock_that_jumped_ahead_does_not_drop_everything_at_once() -> None:
    """One call drops at most the three oldest partitions of a table."""
    days = [store_aged(days) for days in (24, 23, 22, 21, 20)]
    roll_up_all()

    assert retention.drop_expired_partitions() == days[:3]
    assert retention.drop_expired_partitions() == days[3:]
