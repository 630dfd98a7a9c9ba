from __future__ import annotations

from datetime import date, timedelta

import psycopg
import pytest

from dashboard.core import partitions
from dashboard.core.partitions import Attachment
from tests.dashboard.runs.storage.builders import call_concurrently, sql
from tests.live import environment

pytestmark = pytest.mark.usefixtures("whole_store")


def test_partitions_are_created_a_week_and_a_month_ahead() -> None:
    """The partitions of the next days and the next month exist in advance."""
    today = partitions.database_today()
    next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)

    days = partitions.existing_partitions("dashboard_observation")
    months = [partitions.existing_partitions(parent) for parent in partitions.MONTHLY]

    assert partitions.missing_partitions() == []
    assert max(part.start for part in days) == today + timedelta(days=7)
    assert [max(part.start for part in parts) for parts in months] == [next_month] * 4


def test_concurrent_callers_create_a_missing_partition_once() -> None:
    """Of concurrent workers, exactly one creates a missing partition."""
    missing = [f"dashboard_observation_{partitions.database_today() + timedelta(days=5):%Y%m%d}"]
    sql(f"DROP TABLE {missing[0]}")
    assert partitions.missing_partitions() == missing

    created = call_concurrently(4, partitions.ensure_partitions)

    assert sorted(created) == [[], [], [], missing]
    assert partitions.missing_partitions() == []


def test_a_detached_partition_is_attached_again() -> None:
    """A table with the right name is attached to its parent if it is detached."""
    name = f"dashboard_observation_{partitions.database_today():%Y%m%d}"
    sql(f"ALTER TABLE dashboard_observation DETACH PARTITION {name}")
    assert partitions.missing_partitions() == [name]
    assert Attachment.LOOSE in partitions.existing_partitions("dashboard_observation").values()

    assert partitions.ensure_partitions() == [name]

    assert set(partitions.existing_partitions("dashboard_observation").values()) == {
        Attachment.ATTACHED
    }


def test_creating_a_partition_does_not_block_writers() -> None:
    """Creating a partition takes no lock on the parent that blocks a COPY or a chart."""
    month = [date(2031, 2, 3)]

    with psycopg.connect(environment()["DATABASE_URL"]) as writer:
        writer.execute("LOCK TABLE dashboard_rollup5m IN ROW EXCLUSIVE MODE")
        assert partitions.ensure_months(month, parents=["dashboard_rollup5m"]) == [
            "dashboard_rollup5m_203102"
        ]


def test_rollup_partitions_leave_room_for_updates() -> None:
    """A fill factor leaves room for in-place updates of the newest buckets."""
    month = f"{partitions.database_today():%Y%m}"

    options = sql(
        "SELECT relname, reloptions[1] FROM pg_class WHERE relname ~ %s ORDER BY 1",
        f"^dashboard_rollup.*_{month}$",
    )

    assert options == [
        (f"dashboard_rollup5m_{month}", "fillfactor=70"),
        (f"dashboard_rolluphour_{month}", "fillfactor=70"),
    ]
