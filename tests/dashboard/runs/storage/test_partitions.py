from __future__ import annotations

from datetime import date, timedelta

import psycopg
import pytest

from dashboard.core import partitions
from dashboard.core.partitions import Attachment
from tests.dashboard.runs.storage.builders import at_once, sql
from tests.live import environment

pytestmark = pytest.mark.usefixtures("whole_store")


def test_a_week_and_a_month_are_made_ahead() -> None:
    """Midnight and the first of a month find their partitions in place."""
    today = partitions.database_today()
    next_month = (today.replace(day=1) + timedelta(days=32)).replace(day=1)

    days = partitions.existing_partitions("dashboard_observation")
    months = [partitions.existing_partitions(parent) for parent in partitions.MONTHLY]

    assert partitions.missing_partitions() == []
    assert max(part.start for part in days) == today + timedelta(days=7)
    assert [max(part.start for part in parts) for parts in months] == [next_month] * 4


def test_missing_ones_are_named_and_made_once_by_callers_at_once() -> None:
    """Every worker looks around; they do not get into each other's way."""
    lost = [f"dashboard_observation_{partitions.database_today() + timedelta(days=5):%Y%m%d}"]
    sql(f"DROP TABLE {lost[0]}")
    assert partitions.missing_partitions() == lost

    made = at_once(4, partitions.ensure_partitions)

    assert sorted(made) == [[], [], [], lost]
    assert partitions.missing_partitions() == []


def test_a_partition_that_hangs_loose_is_attached_again() -> None:
    """A table of the right name is not enough: it has to be a part of its parent."""
    name = f"dashboard_observation_{partitions.database_today():%Y%m%d}"
    sql(f"ALTER TABLE dashboard_observation DETACH PARTITION {name}")
    assert partitions.missing_partitions() == [name]
    assert Attachment.LOOSE in partitions.existing_partitions("dashboard_observation").values()

    assert partitions.ensure_partitions() == [name]

    assert set(partitions.existing_partitions("dashboard_observation").values()) == {
        Attachment.ATTACHED
    }


def test_a_writer_is_not_kept_waiting_while_partitions_are_made() -> None:
    """Making one takes no lock on the parent that a COPY or a chart would have to wait for."""
    month = [date(2031, 2, 3)]

    with psycopg.connect(environment()["DATABASE_URL"]) as writer:
        writer.execute("LOCK TABLE dashboard_rollup5m IN ROW EXCLUSIVE MODE")
        assert partitions.ensure_months(month, parents=["dashboard_rollup5m"]) == [
            "dashboard_rollup5m_203102"
        ]


def test_rollup_partitions_leave_room_for_updates() -> None:
    """The newest buckets are updated all the time, and an update in place needs room."""
    month = f"{partitions.database_today():%Y%m}"

    options = sql(
        "SELECT relname, reloptions[1] FROM pg_class WHERE relname ~ %s ORDER BY 1",
        f"^dashboard_rollup.*_{month}$",
    )

    assert options == [
        (f"dashboard_rollup5m_{month}", "fillfactor=70"),
        (f"dashboard_rolluphour_{month}", "fillfactor=70"),
    ]
