"""The checks that the state answers: each is broken alone, and named alone."""

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
from dashboard.system.doctor import running
from dashboard.system.doctor.check import Check, Verdict
from dashboard.system.queries import read_system_state
from tests.dashboard.system.builders import age, make_held_run, sql
from tests.factories import make_endpoint, make_run


def troubles() -> dict[str, Check]:
    return {check.name: check for check in running.find_troubles(read_system_state(None))}


def only(name: str, verdict: Verdict) -> Check:
    """The one check that is not ok; it says what to do."""
    found = troubles()
    assert {check: one.verdict for check, one in found.items()} == {name: verdict}
    assert found[name].do
    return found[name]


def test_a_healthy_system_has_no_trouble(healthy: Endpoint) -> None:
    """Otherwise the tests below would show nothing."""
    assert troubles() == {}


def test_no_living_worker_is_named(healthy: Endpoint) -> None:
    """One that was last seen minutes ago does not count."""
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    only("workers", Verdict.BAD)


def test_runs_that_wait_for_want_of_workers_are_not_named_twice(healthy: Endpoint) -> None:
    """One cause, one line."""
    make_run(healthy, not_before=timezone.now() - timedelta(minutes=30))
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))

    only("workers", Verdict.BAD)


def test_workers_with_another_suite_are_named(healthy: Endpoint) -> None:
    """Half an upgrade is worth knowing about."""
    Worker.objects.create(name="host:2", suite_version="tool-probe-v0")

    assert "tool-probe-v0" in only("workers", Verdict.WARN).found


@pytest.mark.parametrize("never", [True, False], ids=["never", "long ago"])
def test_nobody_looking_around_is_named(healthy: Endpoint, never: bool) -> None:
    """Without it no endpoint comes due."""
    if never:
        sql("DELETE FROM dashboard_pulse WHERE duty = 'look around'")
    age("look around", timedelta(minutes=5))

    only("schedule", Verdict.BAD)


def test_an_overdue_endpoint_is_named(healthy: Endpoint) -> None:
    """Somebody looks around, and yet no run is queued."""
    Endpoint.objects.update(next_due_at=Now() - timedelta(minutes=20))

    assert "20 min" in only("schedule", Verdict.BAD).found


def test_an_endpoint_that_just_came_due_is_no_trouble(healthy: Endpoint) -> None:
    """The next look around will find it."""
    Endpoint.objects.update(next_due_at=Now() - timedelta(seconds=20))

    assert troubles() == {}


def test_a_missing_beat_is_a_warning(healthy: Endpoint) -> None:
    """Workers do without."""
    age("beat", timedelta(minutes=5))

    only("beat", Verdict.WARN)


def test_a_slow_schedule_gives_duties_more_time(healthy: Endpoint, settings: LazySettings) -> None:
    """A beat every five minutes is not missing after six."""
    settings.SCHEDULE_EVERY = timedelta(minutes=5)
    age("beat", timedelta(minutes=6))
    age("look around", timedelta(minutes=6))

    assert troubles() == {}


def test_a_lease_that_nobody_freed_is_named(healthy: Endpoint, settings: LazySettings) -> None:
    """More than two leases after it ran out, nobody reaps."""
    make_held_run(healthy, expires_in=-3 * settings.RUN_LEASE)

    only("leases", Verdict.BAD)


def test_a_run_that_nobody_takes_is_named(healthy: Endpoint) -> None:
    """Workers are alive, none is busy, and a run waits: something is stuck."""
    make_run(healthy, not_before=timezone.now() - timedelta(minutes=30))

    assert "30 min" in only("queue", Verdict.BAD).found


def test_a_backlog_is_a_warning(healthy: Endpoint) -> None:
    """As long as runs are under way, the others will have their turn."""
    make_run(healthy, not_before=timezone.now() - timedelta(minutes=30))
    make_held_run(make_endpoint(slug="busy"), expires_in=timedelta(minutes=1))
    Endpoint.objects.update(next_due_at=Now() + timedelta(hours=1))

    only("queue", Verdict.WARN)


@pytest.mark.parametrize(("minutes", "verdict"), [(5, Verdict.WARN), (20, Verdict.BAD)])
def test_rollups_that_lag_behind_are_named(
    healthy: Endpoint, minutes: int, verdict: Verdict
) -> None:
    """Charts show the past by as much."""
    observations.store_batch([], batch=uuid.uuid4())
    waited = timedelta(minutes=minutes)
    sql("UPDATE dashboard_observationbatch SET at = statement_timestamp() - %s", waited)

    assert f"1 batch of observations not rolled up, the oldest for {minutes} min" in (
        only("rollups", verdict).found
    )


@pytest.mark.parametrize("ahead", [0, 1], ids=["today", "tomorrow"])
def test_a_missing_day_is_named(healthy: Endpoint, ahead: int) -> None:
    """What comes in on a day without partition has to be brought home later."""
    day = partitions.database_today() + timedelta(days=ahead)
    sql(f"DROP TABLE dashboard_observation_{day:%Y%m%d}")

    assert f"{day:%Y%m%d}" in only("partitions", Verdict.BAD).found


def test_a_missing_month_is_named(healthy: Endpoint) -> None:
    """Attempts of a month without partition cannot be stored at all."""
    sql(f"DROP TABLE dashboard_attempt_{partitions.database_today():%Y%m}")

    assert "dashboard_attempt_" in only("partitions", Verdict.BAD).found


def test_rows_in_the_overflow_table_are_named(healthy: Endpoint) -> None:
    """A partition was missing for a while."""
    name = f"dashboard_observation_{partitions.database_today():%Y%m%d}"
    sql(f"DROP TABLE {name}")
    row = Observation(healthy.profile.pk, 1, observations.LIVE, 0, datetime.now(UTC))
    observations.store_batch([row], batch=uuid.uuid4())
    partitions._create_missing(list(partitions._upcoming_partitions(partitions.database_today())))

    assert "1 observation " in only("overflow", Verdict.WARN).found


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_is_down_is_named(healthy: Endpoint) -> None:
    """Runs start late, and the page says why."""
    only("doorbells", Verdict.BAD)


def test_stale_endpoints_are_named(healthy: Endpoint) -> None:
    """By their slugs, since something is to be done about each."""
    Endpoint.objects.update(last_finished_at=Now() - timedelta(hours=13))

    assert "steady" in only("stale endpoints", Verdict.WARN).found


def test_of_many_stale_endpoints_the_first_are_named(healthy: Endpoint) -> None:
    """A list of thousands would hide everything else."""
    for number in range(25):
        make_endpoint(slug=f"e{number}")
    Endpoint.objects.update(
        last_finished_at=Now() - timedelta(hours=13), next_due_at=Now() + timedelta(hours=1)
    )

    assert only("stale endpoints", Verdict.WARN).found.endswith("and 6 more.")


def test_spent_budgets_are_named(healthy: Endpoint) -> None:
    """Until tomorrow, unless somebody raises them."""
    Endpoint.objects.update(spent_out_on=partitions.database_today())

    assert "steady" in only("budgets", Verdict.WARN).found
