from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from dashboard.core import partitions
from dashboard.models import Attempt, Run
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from tests.dashboard.runs.builders import attempt, claimed
from tests.factories import make_endpoint


@pytest.mark.django_db(transaction=True)
def test_a_run_from_a_month_without_a_partition_makes_its_own() -> None:
    """A run that waited while nobody looked after the partitions loses nothing."""
    make_endpoint()
    schedule.schedule_due()
    Run.objects.update(created_at=datetime(2021, 5, 5, tzinfo=UTC))
    lease = claimed()
    assert runs.start_run(lease)

    attempts.record_attempt(lease, attempt(1))

    assert Attempt.objects.count() == 1
    with connection.cursor() as cursor:
        for table in partitions.MONTHLY:
            cursor.execute(f"DROP TABLE {table}_202105")
