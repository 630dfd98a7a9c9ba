from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import call_command

from dashboard.core import partitions
from dashboard.models import ObservationBatch
from dashboard.runs.observations import PROBE
from tests.dashboard.runs.storage.builders import (
    assert_rolled_up,
    build_observation,
    roll_up_all,
    sql,
)
from tests.dashboard.upgrade.databases import connect_to, empty_database

NOW = datetime.now(UTC)


@pytest.mark.django_db(transaction=True)
def test_rows_from_before_there_were_batches_are_rolled_up() -> None:
    """The upgrade of an installation with observations loses none of them."""
    rows = [
        build_observation(profile=profile, at=NOW - timedelta(hours=profile))._replace(lane=PROBE)
        for profile in (1, 1, 2)
    ]
    # Forwards from an empty database takes Django half as long as back and forwards again.
    with empty_database("old") as name, connect_to(name):
        call_command("migrate", "dashboard", "0003_run_machine", verbosity=0)
        partitions.ensure_days({NOW.date(), (NOW - timedelta(minutes=1)).date()})
        for number, row in enumerate(rows):
            sql(
                "INSERT INTO dashboard_observation (at, profile_id, key_epoch, lane, verdicts, "
                "event_at) VALUES (%s, %s, 1, %s, %s, %s)",
                NOW - timedelta(minutes=number // 2),
                row.profile_id,
                row.lane,
                row.verdicts,
                row.event_at,
            )
        call_command("migrate", verbosity=0)
        partitions.ensure_partitions()
        assert sorted(ObservationBatch.objects.values_list("rows", flat=True)) == [1, 2]

        roll_up_all()

        assert_rolled_up(rows)
