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
from tests.dashboard.system.builders import age, make_held_run, make_old_worker, sql
from tests.factories import make_endpoint, make_finished_run, make_run


def test_a_fresh_system_has_a_state(db: None) -> None:
    """Before the first worker, endpoint and run there is nothing to tell, and it is told."""
    found = read_system_state(None)

    assert (found.workers, found.duties, found.providers, found.endpoints) == ((), {}, (), 0)
    assert found.runs == {"queued": 0, "leased": 0, "running": 0}
    assert (found.scheduler_lag, found.waiting_since, found.store.rollup_lag) == (None, None, None)


def test_the_lag_of_the_schedule_is_the_age_of_the_oldest_due_endpoint(healthy: Endpoint) -> None:
    """Only endpoints that are due, enabled and without a run under way count."""
    for minutes, over in ((9, {"enabled": False}), (7, {}), (5, {})):
        make_endpoint(slug=f"due-{minutes}", **over)
        due = Now() - timedelta(minutes=minutes)
        Endpoint.objects.filter(slug=f"due-{minutes}").update(next_due_at=due)
    make_run(Endpoint.objects.get(slug="due-7"))

    lag = read_system_state(None).scheduler_lag

    assert lag
    assert timedelta(minutes=5) <= lag < timedelta(minutes=7)


def test_runs_are_counted_by_state_and_provider(healthy: Endpoint, settings: LazySettings) -> None:
    """Each provider shows what waits, what is under way, and how much may be."""
    settings.PROVIDER_RUNS_EXCEPT = {"openai": 3}
    make_held_run(healthy, expires_in=timedelta(minutes=1))
    make_run(make_endpoint(slug="two"), provider="openai")
    make_run(make_endpoint(slug="three", provider="ollama"), provider="ollama")

    found = read_system_state(None)

    loads = {load.provider: (load.waiting, load.under_way, load.limit) for load in found.providers}
    assert found.runs == {"queued": 2, "leased": 0, "running": 1}
    assert loads == {"openai": (1, 1, 3), "ollama": (1, 0, settings.PROVIDER_RUNS)}


def test_the_oldest_waiting_run_is_one_that_may_start(healthy: Endpoint) -> None:
    """It waits since the moment from which it might have started."""
    since = timezone.now() - timedelta(minutes=4)
    make_run(healthy, not_before=since)
    make_run(make_endpoint(slug="later"), not_before=timezone.now() + timedelta(minutes=4))

    assert read_system_state(None).waiting_since == since


def test_a_run_that_is_to_wait_does_not_wait_for_a_worker(healthy: Endpoint) -> None:
    """Nothing is late before its time has come."""
    make_run(healthy, not_before=timezone.now() + timedelta(minutes=4))

    assert (read_system_state(None).waiting_since, read_system_state(None).waited) == (
        None,
        timedelta(0),
    )


def test_a_lease_counts_as_expired_only_after_two_leases(
    healthy: Endpoint, settings: LazySettings
) -> None:
    """A worker's death is noticed by the others within seconds; only what they miss counts."""
    make_held_run(healthy, expires_in=-settings.RUN_LEASE)
    make_held_run(make_endpoint(slug="two"), expires_in=-3 * settings.RUN_LEASE, slot=2)

    assert read_system_state(None).expired_leases == 1


def test_the_last_hour_counts_what_ended_in_it(healthy: Endpoint) -> None:
    """Ended runs by state, claims with those under way, takeovers, attempts and void ones."""
    make_finished_run(healthy, passed=3, failed=1, void=2, claims=1)
    make_finished_run(healthy, passed=0, void=4, claims=3)
    make_finished_run(healthy, at=timezone.now() - timedelta(minutes=61), claims=1)
    make_held_run(healthy, expires_in=timedelta(minutes=1), claims=2)

    hour = read_system_state(None).last_hour

    assert hour.ended == {"finished": 1, "failed": 1}
    assert (hour.claims, hour.takeovers, hour.attempts, hour.void) == (6, 3, 10, 6)


def test_history_that_was_played_is_no_load(healthy: Endpoint) -> None:
    """Simulated runs were never claimed and are not the work of the last hour."""
    make_finished_run(healthy, simulated=True)

    assert (
        read_system_state(None).last_hour.ended,
        read_system_state(None).last_hour.attempts,
    ) == ({}, 0)


def test_workers_are_alive_for_as_long_as_they_were_seen_lately(healthy: Endpoint) -> None:
    """One that has not looked for work for longer is gone."""
    make_old_worker("host:2", timedelta(seconds=80))
    make_old_worker("host:3", timedelta(seconds=100))

    found = read_system_state(None)

    assert [worker.name for worker in found.workers] == ["host:1", "host:2"]
    assert found.workers_gone == 1


def test_duties_tell_when_they_were_last_done(healthy: Endpoint) -> None:
    """The age is counted by the database's clock."""
    age("beat", timedelta(minutes=3))

    found = read_system_state(None)

    assert (
        timedelta(minutes=3)
        <= (found.age(found.duties["beat"]) or timedelta())
        < timedelta(minutes=4)
    )


def test_endpoints_are_stale_after_twice_their_ttl(healthy: Endpoint) -> None:
    """The longest without a verdict comes first; disabled and removed ones do not count."""
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
    """It would never be stale otherwise."""
    registered = Now() - timedelta(hours=13)
    Endpoint.objects.update(last_finished_at=None, created_at=registered)

    assert read_system_state(None).stale == NamedEndpoints(1, ("steady",))


def test_budgets_are_spent_out_for_one_day(healthy: Endpoint) -> None:
    """Yesterday's budget is no matter any more."""
    make_endpoint(slug="yesterday")
    today = partitions.database_today()
    Endpoint.objects.filter(slug="steady").update(spent_out_on=today)
    Endpoint.objects.filter(slug="yesterday").update(spent_out_on=today - timedelta(days=1))

    assert read_system_state(None).spent_out == NamedEndpoints(1, ("steady",))


def test_batches_that_wait_make_the_lag_of_the_rollups(healthy: Endpoint) -> None:
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
    """What lies in the overflow table shows."""
    sql(f"DROP TABLE dashboard_observation_{partitions.database_today():%Y%m%d}")
    row = Observation(healthy.profile.pk, 1, observations.LIVE, 0, datetime.now(UTC))
    observations.store_batch([row, row], batch=uuid.uuid4())

    assert read_system_state(None).store.overflow_rows == 2


def test_partitions_are_summed_up_by_table(healthy: Endpoint) -> None:
    """Yesterday, today and a week ahead for days; this month and the next for months."""
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


def test_doorbells_in_the_broker_are_counted(healthy: Endpoint, redis: Redis) -> None:
    """Messages that no worker has taken yet."""
    redis.lpush("celery", "one", "two")

    assert read_system_state(None).doorbells == 2


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_is_down_is_no_error(healthy: Endpoint) -> None:
    """The state says so and tells everything else."""
    found = read_system_state(None)

    assert found.doorbells is None
    assert found.endpoints == 1


def test_reading_the_state_costs_the_same_for_any_fleet(
    healthy: Endpoint, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The number of queries does not grow with endpoints, runs or providers."""
    for number in range(5):
        make_finished_run(make_endpoint(slug=f"e{number}", provider="ollama"))

    with django_assert_num_queries(11):
        read_system_state(None)
