from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.db.models.functions import Now
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from dashboard.core import partitions
from dashboard.models import Endpoint
from dashboard.models.observation import Observation
from dashboard.runs import observations
from dashboard.system.queries import read_system_state
from dashboard.system.state import NamedEndpoints
from tests.dashboard.system.builders import backdate_duty, make_held_run, make_old_worker, sql
from tests.factories import make_endpoint, make_finished_run, make_run


def test_a_new_system_has_a_state(db: None) -> None:
    """Without workers, endpoints and runs the state is empty."""
    state = read_system_state(None)

    assert (state.workers, state.duties, state.providers, state.endpoints) == ((), {}, (), 0)
    assert state.runs == {"queued": 0, "leased": 0, "running": 0}
    assert (state.scheduler_lag, state.waiting_since, state.store.rollup_lag) == (None, None, None)


def test_the_lag_of_the_schedule_is_the_age_of_the_oldest_due_endpoint(healthy: Endpoint) -> None:
    """Only due and enabled endpoints without an active run count."""
    for minutes, over in ((9, {"enabled": False}), (7, {}), (5, {})):
        make_endpoint(slug=f"due-{minutes}", **over)
        due = Now() - timedelta(minutes=minutes)
        Endpoint.objects.filter(slug=f"due-{minutes}").update(next_due_at=due)
    make_run(Endpoint.objects.get(slug="due-7"))

    lag = read_system_state(None).scheduler_lag

    assert lag
    assert timedelta(minutes=5) <= lag < timedelta(minutes=7)


def test_runs_are_counted_by_state_and_provider(healthy: Endpoint, settings: LazySettings) -> None:
    """A provider has its waiting runs, active runs and limit."""
    settings.PROVIDER_RUNS_EXCEPT = {"openai": 3}
    make_held_run(healthy, expires_in=timedelta(minutes=1))
    make_run(make_endpoint(slug="two"), provider="openai")
    make_run(make_endpoint(slug="three", provider="ollama"), provider="ollama")

    state = read_system_state(None)

    loads = {load.provider: (load.waiting, load.under_way, load.limit) for load in state.providers}
    assert state.runs == {"queued": 2, "leased": 0, "running": 1}
    assert loads == {"openai": (1, 1, 3), "ollama": (1, 0, settings.PROVIDER_RUNS)}


def test_the_oldest_waiting_run_is_one_that_can_start(healthy: Endpoint) -> None:
    """The waiting time begins when the run could have started."""
    since = timezone.now() - timedelta(minutes=4)
    make_run(healthy, not_before=since)
    make_run(make_endpoint(slug="later"), not_before=timezone.now() + timedelta(minutes=4))

    assert read_system_state(None).waiting_since == since


def test_a_delayed_run_does_not_wait_for_a_worker(healthy: Endpoint) -> None:
    """A run that must not start yet is not late."""
    make_run(healthy, not_before=timezone.now() + timedelta(minutes=4))

    assert (read_system_state(None).waiting_since, read_system_state(None).waited) == (
        None,
        timedelta(0),
    )


def test_a_lease_counts_as_expired_only_after_two_leases(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """Other workers take over within seconds; only leases that they missed count."""
    make_held_run(healthy, expires_in=-settings.RUN_LEASE)
    make_held_run(make_endpoint(slug="two"), expires_in=-3 * settings.RUN_LEASE, slot=2)

    assert read_system_state(None).expired_leases == 1


def test_the_last_hour_counts_ended_runs(healthy: Endpoint) -> None:
    """Ended runs by state, claims including active runs, takeovers and attempts."""
    make_finished_run(healthy, passed=3, failed=1, void=2, claims=1)
    make_finished_run(healthy, passed=0, void=4, claims=3)
    make_finished_run(healthy, at=timezone.now() - timedelta(minutes=61), claims=1)
    make_held_run(healthy, expires_in=timedelta(minutes=1), claims=2)

    hour = read_system_state(None).last_hour

    assert hour.ended == {"finished": 1, "failed": 1}
    assert (hour.claims, hour.takeovers, hour.attempts, hour.void) == (6, 3, 10, 6)


def test_simulated_history_is_not_counted(healthy: Endpoint) -> None:
    """Workers did not claim simulated runs."""
    make_finished_run(healthy, simulated=True)

    assert (
        read_system_state(None).last_hour.ended,
        read_system_state(None).last_hour.attempts,
    ) == ({}, 0)


def test_workers_are_alive_if_seen_recently(healthy: Endpoint) -> None:
    """Others are only counted."""
    make_old_worker("host:2", timedelta(seconds=80))
    make_old_worker("host:3", timedelta(seconds=100))

    state = read_system_state(None)

    assert [worker.name for worker in state.workers] == ["host:1", "host:2"]
    assert state.workers_gone == 1


def test_duties_have_the_time_they_were_last_done(healthy: Endpoint) -> None:
    """The age uses the clock of the database."""
    backdate_duty("beat", timedelta(minutes=3))

    state = read_system_state(None)

    assert (
        timedelta(minutes=3)
        <= (state.age(state.duties["beat"]) or timedelta())
        < timedelta(minutes=4)
    )


def test_endpoints_are_stale_after_twice_their_ttl(healthy: Endpoint) -> None:
    """The stalest comes first; disabled and removed endpoints do not count."""
    for slug, hours, over in (
        ("fresh", 11, {}),
        ("stale", 13, {}),
        ("staler", 14, {}),
        ("off", 20, {"enabled": False}),
        ("gone", 20, {"removed_at": timezone.now()}),
    ):
        make_endpoint(slug=slug)
        finished = Now() - timedelta(hours=hours)
        Endpoint.objects.filter(slug=slug).update(last_finished_at=finished, **over)

    assert read_system_state(None).stale == NamedEndpoints(2, ("staler", "stale"))


def test_an_endpoint_that_never_finished_is_as_old_as_its_registration(healthy: Endpoint) -> None:
    """Otherwise it would never be stale."""
    registered = Now() - timedelta(hours=13)
    Endpoint.objects.update(last_finished_at=None, created_at=registered)

    assert read_system_state(None).stale == NamedEndpoints(1, ("steady",))


def test_a_spent_budget_counts_for_one_day(healthy: Endpoint) -> None:
    """The budget of yesterday does not count."""
    make_endpoint(slug="yesterday")
    today = partitions.database_today()
    Endpoint.objects.filter(slug="steady").update(spent_out_on=today)
    Endpoint.objects.filter(slug="yesterday").update(spent_out_on=today - timedelta(days=1))

    assert read_system_state(None).spent_out == NamedEndpoints(1, ("steady",))


def test_waiting_batches_are_the_lag_of_the_rollups(healthy: Endpoint) -> None:
    """The oldest batch that is not rolled up gives the lag."""
    for minutes in (8, 3):
        observations.store_batch([], batch=uuid.uuid4())
        sql(
            "UPDATE dashboard_observationbatch SET at = statement_timestamp() - %s"
            " WHERE id = (SELECT max(id) FROM dashboard_observationbatch)",
            timedelta(minutes=minutes),
        )

    store = read_system_state(None).store

    assert store.rollup_lag
    assert timedelta(minutes=8) <= store.rollup_lag < timedelta(minutes=9)
    assert store.batches_waiting == 2


def test_rows_without_a_partition_are_counted(healthy: Endpoint) -> None:
    """The rows of the overflow table are counted."""
    sql(f"DROP TABLE dashboard_observation_{partitions.database_today():%Y%m%d}")
    row = Observation(healthy.profile.pk, 1, observations.LIVE, 0, datetime.now(UTC))
    observations.store_batch([row, row], batch=uuid.uuid4())

    assert read_system_state(None).store.overflow_rows == 2


def test_partitions_are_summed_up_by_table(healthy: Endpoint) -> None:
    """Daily tables reach from yesterday to a week ahead, monthly ones to next month."""
    tables = {table.name: table for table in read_system_state(None).store.tables}
    today = partitions.database_today()

    days, months = tables["observation"], tables["rolluphour"]
    assert (days.partitions, days.first, days.last) == (
        9,
        today - timedelta(days=1),
        today + timedelta(days=7),
    )
    assert (months.partitions, months.first) == (2, today.replace(day=1))
    assert all(table.size_bytes > 0 for table in tables.values())


def test_wake_ups_in_the_broker_are_counted(healthy: Endpoint, redis: Redis) -> None:
    """Messages that no worker received yet are counted."""
    redis.lpush("celery", "one", "two")

    assert read_system_state(None).wake_ups == 2


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_is_down_is_not_an_error(healthy: Endpoint) -> None:
    """The rest of the state is complete."""
    state = read_system_state(None)

    assert state.wake_ups is None
    assert state.endpoints == 1


def test_the_number_of_queries_does_not_depend_on_the_fleet(
    healthy: Endpoint, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The number of queries does not grow with endpoints, runs or providers."""
    for number in range(5):
        make_finished_run(make_endpoint(slug=f"e{number}", provider="ollama"))

    with django_assert_num_queries(11):
        read_system_state(None)
