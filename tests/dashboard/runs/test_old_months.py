from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection

from dashboard.core import partitions
from dashboard.models import Attempt, Run
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from tests.dashboard.runs.builders import build_attempt, claim_next_run
from tests.factories import make_endpoint


@pytest.mark.django_db(transaction=True)
def test_a_run_of_a_month_without_partitions_creates_them() -> None:
    """An attempt of a run whose month has no partition is stored."""
    make_endpoint()
    schedule.schedule_due()
    Run.objects.update(created_at=datetime(2021, 5, 5, tzinfo=UTC))
    lease = claim_next_run()
    assert runs.start_run(lease)

    attempts.record_attempt(lease, build_attempt(1))

    assert Attempt.objects.count() == 1
    with connection.cursor() as cursor:
        for table in partitions.MONTHLY:
            cursor.execute(f"DROP TABLE {table}_202105")
