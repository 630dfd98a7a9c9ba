"""The checks of the state: each single problem is reported by one check."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.core import partitions
from dashboard.models import Endpoint, Worker
from dashboard.models.observation import Observation
from dashboard.runs import observations
from dashboard.system.doctor import work_in_progress
from dashboard.system.doctor.check import Check, Verdict
from dashboard.system.queries import read_system_state
from tests.dashboard.system.builders import backdate_duty, make_held_run, sql
from tests.factories import make_endpoint, make_run


def read_problems() -> dict[str, Check]:
    return {check.name: check for check in work_in_progress.find_problems(read_system_state(None))}


def only_problem(name: str, verdict: Verdict) -> Check:
    """The only check that is not ok; it has advice."""
    problems = read_problems()
    assert {check.name: check.verdict for check in problems.values()} == {name: verdict}
    assert problems[name].advice
    return problems[name]


def test_a_healthy_system_has_no_problems(healthy: Endpoint) -> None:
    """Otherwise the tests below would prove nothing."""
    assert read_problems() == {}


def test_no_live_worker_is_reported(healthy: Endpoint) -> None:
    """A worker that was seen minutes ago does not count."""
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    only_problem("workers", Verdict.BAD)


def test_runs_that_wait_without_workers_are_not_reported_twice(healthy: Endpoint) -> None:
    """One cause is reported by one check."""
    make_run(healthy, not_before=timezone.now() - timedelta(minutes=30))
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    only_problem("workers", Verdict.BAD)


def test_workers_with_another_suite_are_reported(healthy: Endpoint) -> None:
    """An incomplete upgrade is a warning."""
    Worker.objects.create(name="host:2", suite_version="tool-probe-v0")

    assert "tool-probe-v0" in only_problem("workers", Verdict.WARN).message


@pytest.mark.parametrize("is_missing", [True, False], ids=["never", "long ago"])
def test_a_missing_look_around_is_reported(healthy: Endpoint, is_missing: bool) -> None:
    """Without it no run is queued."""
    if is_missing:
        sql("DELETE FROM dashboard_pulse WHERE duty = 'look around'")
    backdate_duty("look around", timedelta(minutes=5))

    only_problem("schedule", Verdict.BAD)


def test_an_overdue_endpoint_is_reported(healthy: Endpoint) -> None:
    """The schedule is checked, but no run is queued."""
    Endpoint.objects.update(next_due_at=Now() - timedelta(minutes=20))

    assert "20 min" in only_problem("schedule", Verdict.BAD).message


def test_an_endpoint_that_just_came_due_is_no_problem(healthy: Endpoint) -> None:
    """The next check of the schedule queues it."""
    Endpoint.objects.update(next_due_at=Now() - timedelta(seconds=20))

    assert read_problems() == {}


def test_a_missing_beat_is_a_warning(healthy: Endpoint) -> None:
    """Workers do not need it."""
    backdate_duty("beat", timedelta(minutes=5))

    only_problem("beat", Verdict.WARN)


def test_a_slow_schedule_gives_duties_more_time(healthy: Endpoint, settings: LazySettings) -> None:
    """A beat with an interval of five minutes is not missing after six."""
    settings.SCHEDULE_EVERY = timedelta(minutes=5)
    backdate_duty("beat", timedelta(minutes=6))
    backdate_duty("look around", timedelta(minutes=6))

    assert read_problems() == {}


def test_an_expired_lease_is_reported(healthy: Endpoint, settings: LazySettings) -> None:
    """A lease that expired long ago was not released."""
    make_held_run(healthy, expires_in=-3 * settings.RUN_LEASE)

    only_problem("leases", Verdict.BAD)


def test_a_stuck_queue_is_reported(healthy: Endpoint) -> None:
    """A run waits although workers are alive and idle."""
    make_run(healthy, not_before=timezone.now() - timedelta(minutes=30))

    assert "30 min" in only_problem("queue", Verdict.BAD).message


def test_a_backlog_is_a_warning(healthy: Endpoint) -> None:
    """While runs are in progress, the queue is only slow."""
    make_run(healthy, not_before=timezone.now() - timedelta(minutes=30))
    make_held_run(make_endpoint(slug="busy"), expires_in=timedelta(minutes=1))
    Endpoint.objects.update(next_due_at=Now() + timedelta(hours=1))

    only_problem("queue", Verdict.WARN)


@pytest.mark.parametrize(("minutes", "verdict"), [(5, Verdict.WARN), (20, Verdict.BAD)])
def test_lagging_rollups_are_reported(healthy: Endpoint, minutes: int, verdict: Verdict) -> None:
    """Charts lag behind as much."""
    observations.store_batch([], batch=uuid.uuid4())
    waited = timedelta(minutes=minutes)
    sql("UPDATE dashboard_observationbatch SET at = statement_timestamp() - %s", waited)

    assert f"1 batch of observations not rolled up, the oldest for {minutes} min" in (
        only_problem("rollups", verdict).message
    )


@pytest.mark.parametrize("ahead", [0, 1], ids=["today", "tomorrow"])
def test_a_missing_day_is_reported(healthy: Endpoint, ahead: int) -> None:
    """Observations of a day without a partition go to the overflow table."""
    day = partitions.database_today() + timedelta(days=ahead)
    sql(f"DROP TABLE dashboard_observation_{day:%Y%m%d}")

    assert f"{day:%Y%m%d}" in only_problem("partitions", Verdict.BAD).message


def test_a_missing_month_is_reported(healthy: Endpoint) -> None:
    """Attempts of a month without a partition cannot be stored."""
    sql(f"DROP TABLE dashboard_attempt_{partitions.database_today():%Y%m}")

    assert "dashboard_attempt_" in only_problem("partitions", Verdict.BAD).message


def test_rows_in_the_overflow_table_are_reported(healthy: Endpoint) -> None:
    """They show that a partition was missing."""
    name = f"dashboard_observation_{partitions.database_today():%Y%m%d}"
    sql(f"DROP TABLE {name}")
    row = Observation(healthy.profile.pk, 1, observations.LIVE, 0, datetime.now(UTC))
    observations.store_batch([row], batch=uuid.uuid4())
    partitions._create_missing(list(partitions._upcoming_partitions(partitions.database_today())))

    assert "1 observation " in only_problem("overflow", Verdict.WARN).message


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_is_down_is_reported(healthy: Endpoint) -> None:
    """Runs start late without it."""
    only_problem("doorbells", Verdict.BAD)


def test_stale_endpoints_are_reported(healthy: Endpoint) -> None:
    """The message lists their slugs."""
    Endpoint.objects.update(last_finished_at=Now() - timedelta(hours=13))

    assert "steady" in only_problem("stale endpoints", Verdict.WARN).message


def test_the_number_of_listed_stale_endpoints_is_limited(healthy: Endpoint) -> None:
    """The message lists the first 20 and counts the others."""
    for number in range(25):
        make_endpoint(slug=f"e{number}")
    Endpoint.objects.update(
        last_finished_at=Now() - timedelta(hours=13), next_due_at=Now() + timedelta(hours=1)
    )

    assert only_problem("stale endpoints", Verdict.WARN).message.endswith("and 6 more.")


def test_spent_budgets_are_reported(healthy: Endpoint) -> None:
    """The message lists the endpoints without a budget for today."""
    Endpoint.objects.update(spent_out_on=partitions.database_today())

    assert "steady" in only_problem("budgets", Verdict.WARN).message
