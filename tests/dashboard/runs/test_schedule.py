"""The trigger and the suite of scheduled runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.functions import Now

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Incident, Run, RunMetric, Watch, Worker
from dashboard.models.run import Trigger
from dashboard.runs import schedule, workers
from dashboard.runs import services as runs
from dashboard.trust import detection
from tests.dashboard.runs.builders import (
    complete_run,
    count_trials,
    expire_lease,
    last_finished_at,
    make_endpoints_due,
    start_next_run,
)
from tests.dashboard.runs.conftest import FIELDS
from tests.dashboard.trust.builders import DEAD, HEALTHY, PARSE, attempt_with


def trigger_and_suite(run: Run) -> tuple[str, str]:
    return run.trigger, run.suite


def read_wait(endpoint: Endpoint) -> timedelta:
    endpoint.refresh_from_db()
    return endpoint.next_due_at - last_finished_at()


def move_two_days_back(endpoint: Endpoint) -> None:
    """Move all runs two days into the past, and replay the watch."""
    past = timedelta(days=2)
    Run.objects.update(finished_at=F("finished_at") - past)
    RunMetric.objects.update(finished_at=F("finished_at") - past)
    Watch.objects.update(state=detection.replay_watch(endpoint.profile).as_json())


def test_onboarding_fills_a_baseline_before_the_ttl_takes_over(
    endpoint: Endpoint, settings: Any
) -> None:
    """One full run, then light runs some minutes apart, then one run per TTL."""
    Endpoint.objects.update(onboarding_left=3)
    settings.BASELINE_EVERY = timedelta(minutes=10)

    shapes, waits = [], []
    for _ in range(4):
        shapes.append(trigger_and_suite(complete_run()))
        waits.append(read_wait(endpoint))

    assert shapes == [
        ("baseline", "full"),
        ("baseline", "light"),
        ("baseline", "light"),
        ("ttl", "light"),
    ]
    assert [wait > timedelta(hours=1) for wait in waits] == [False, False, True, True]


def test_the_next_run_after_a_ttl_is_spread_by_a_tenth(endpoint: Endpoint) -> None:
    """Endpoints registered at the same time are not probed at the same time forever."""
    waits = set()
    for _ in range(5):
        complete_run()
        waits.add(read_wait(endpoint))

    assert len(waits) == 5
    assert all(endpoint.ttl * 0.9 <= wait <= endpoint.ttl * 1.1 for wait in waits)


def test_a_run_that_looks_worse_is_confirmed_soon_by_a_full_one(
    endpoint: Endpoint, settings: Any
) -> None:
    """One bad run is confirmed soon instead of after a TTL."""
    settings.CONFIRM_AFTER = timedelta(minutes=6)
    complete_run(attempt_with(HEALTHY))

    complete_run(attempt_with(DEAD))
    soon = read_wait(endpoint)
    confirmed = complete_run(attempt_with(DEAD))

    assert timedelta(minutes=5) < soon < timedelta(minutes=7)
    assert trigger_and_suite(confirmed) == ("confirm", "full")


def test_after_an_unconfirmed_warning_the_schedule_resumes(endpoint: Endpoint) -> None:
    """A warning that is not confirmed causes a few extra runs, then the TTL applies again."""
    complete_run(attempt_with(HEALTHY))
    complete_run(attempt_with(DEAD))

    shapes = [trigger_and_suite(complete_run(attempt_with(HEALTHY))) for _ in range(5)]

    resumed = shapes.index(("ttl", "light"))
    assert 1 <= resumed <= 4
    assert set(shapes[:resumed]) == {("confirm", "full")}
    assert set(shapes[resumed:]) == {("ttl", "light")}


def test_a_confirmed_degradation_is_watched_more_often_as_long_as_it_lasts(
    endpoint: Endpoint,
) -> None:
    """Recovery runs come every quarter of the TTL, since only a probe can prove recovery."""
    for outcomes in (HEALTHY, DEAD, DEAD):
        complete_run(attempt_with(outcomes))

    triggers = set()
    for _ in range(9):
        triggers.add(trigger_and_suite(complete_run(attempt_with(DEAD))))
        wait = read_wait(endpoint)
        assert endpoint.ttl / 4 * 0.9 <= wait <= endpoint.ttl / 4 * 1.1

    assert triggers == {("recovery", "light")}


def test_the_schedule_resumes_after_a_recovery(endpoint: Endpoint) -> None:
    """Recovery runs continue until the incident has ended."""
    for outcomes in (HEALTHY, DEAD, DEAD):
        complete_run(attempt_with(outcomes))
    detection.release_incident(Incident.objects.get(), by=None, note="It is mended.")
    move_two_days_back(endpoint)

    shapes = []
    while Incident.objects.filter(ended_at=None):
        shapes.append(trigger_and_suite(complete_run(attempt_with(HEALTHY))))
        assert len(shapes) < 20

    assert set(shapes) == {("recovery", "light")}
    assert trigger_and_suite(complete_run(attempt_with(HEALTHY))) == ("ttl", "light")


def test_an_accepted_change_is_learned_by_baseline_runs(endpoint: Endpoint, settings: Any) -> None:
    """Light baseline runs follow: the capabilities are known already."""
    settings.BASELINE_RUNS = 3
    for outcomes in (HEALTHY, DEAD, DEAD):
        complete_run(attempt_with(outcomes))

    detection.accept_baseline(endpoint.profile, PARSE, by=None, note="So be it.")

    assert Endpoint.objects.filter(next_due_at__lte=Now()).exists()
    shapes = [trigger_and_suite(complete_run(attempt_with(DEAD))) for _ in range(4)]
    assert shapes == [("baseline", "light")] * 3 + [("ttl", "light")]


def test_an_api_run_has_its_trigger_and_follows_a_manual_one(endpoint: Endpoint) -> None:
    """The order is manual runs, then API runs, then scheduled runs."""
    other = endpoints.create(**{**FIELDS, "slug": "two"})
    scripted = runs.request_run(other, by=None, trigger=Trigger.API)
    manual = runs.request_run(endpoint, by=None)

    order = [runs.claim_run(owner="me"), runs.claim_run(owner="me")]

    assert [lease.run_id for lease in order if lease] == [manual.pk, scripted.pk]
    assert scripted.trigger == "api"


def test_a_queued_run_becomes_urgent_and_full_on_request(endpoint: Endpoint) -> None:
    """A request returns the queued run with a higher priority and the requested suite."""
    complete_run()
    make_endpoints_due()
    schedule.schedule_due()
    person = User.objects.create_user("ann")

    run = runs.request_run(endpoint, by=person, suite="full")

    assert (run.trigger, run.priority, run.suite) == ("ttl", 1, "full")
    assert run.planned == count_trials("full")


def test_a_started_run_keeps_its_suite(endpoint: Endpoint) -> None:
    """A request for a full run does not extend a light run that has started."""
    complete_run()
    make_endpoints_due()
    schedule.schedule_due()
    start_next_run()

    run = runs.request_run(endpoint, by=None, suite="full")

    assert (run.suite, run.planned) == ("light", count_trials("light"))


def test_a_worker_does_not_claim_an_unknown_suite_version(endpoint: Endpoint) -> None:
    """In a rolling upgrade no worker claims a suite version that it does not have."""
    schedule.schedule_due()
    Run.objects.update(suite_version="tool-probe-v0")

    assert runs.claim_run(owner="me") is None


def test_a_suite_version_without_live_workers_is_retired(
    endpoint: Endpoint,
) -> None:
    """After an upgrade an old queued run is superseded and its endpoint is due at once."""
    schedule.schedule_due()
    Run.objects.update(suite_version="tool-probe-v0", created_at=Now() - timedelta(hours=1))
    workers.record_heartbeat("new:1")
    Worker.objects.create(name="old:1", suite_version="tool-probe-v0")
    assert schedule.retire_unserved_runs() == 0

    Worker.objects.filter(name="old:1").delete()
    retired = schedule.retire_unserved_runs()
    schedule.schedule_due()

    old, new = Run.objects.order_by("id")
    assert retired == 1
    assert (old.state, "superseded" in old.reason) == ("abandoned", True)
    assert new.state == "queued"


def test_a_clock_set_back_delays_nothing(endpoint: Endpoint) -> None:
    """Due times that are too far ahead are corrected."""
    Endpoint.objects.update(next_due_at=Now() + timedelta(days=1))
    schedule.schedule_due()
    endpoint.refresh_from_db()
    assert endpoint.next_due_at - endpoint.created_at < timedelta(hours=7)

    make_endpoints_due()
    schedule.schedule_due()
    Run.objects.update(not_before=Now() + timedelta(days=1), dispatched_at=Now())
    schedule.schedule_due()

    assert len(schedule.claim_wakeups(5)) == 1


def test_a_lease_from_before_the_clock_was_set_back_is_reaped(endpoint: Endpoint) -> None:
    """A lease that ends too far ahead is reaped."""
    schedule.schedule_due()
    start_next_run()
    Run.objects.update(lease_expires_at=Now() + timedelta(days=1))

    assert schedule.reap_expired_leases() == 1


@pytest.mark.parametrize("deaths", [1, 3])
def test_each_death_of_a_worker_doubles_the_wait(
    endpoint: Endpoint, settings: Any, deaths: int
) -> None:
    """A run that kills its workers is retried later each time."""
    settings.RUN_RETRY_AFTER = timedelta(minutes=1)
    schedule.schedule_due()
    for _ in range(deaths):
        Run.objects.update(not_before=Now())
        lease = start_next_run()
        expire_lease(lease)
        schedule.reap_expired_leases()

    waiting = Run.objects.filter(not_before__gt=Now() + timedelta(minutes=2 ** (deaths - 1) * 0.9))
    assert waiting.count() == 1
