"""Why a run is due, and which suite it asks."""

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
from tests.dashboard.runs.builders import carry_through, due_now, ended_at, expire, pieces, started
from tests.dashboard.runs.conftest import FIELDS
from tests.dashboard.trust.builders import DEAD, HEALTHY, PARSE, attempt_with


def shape(run: Run) -> tuple[str, str]:
    return run.trigger, run.suite


def wait_of(endpoint: Endpoint) -> timedelta:
    endpoint.refresh_from_db()
    return endpoint.next_due_at - ended_at()


def two_days_pass(endpoint: Endpoint) -> None:
    """All runs so far were made two days earlier, and the watch saw them then."""
    past = timedelta(days=2)
    Run.objects.update(finished_at=F("finished_at") - past)
    RunMetric.objects.update(finished_at=F("finished_at") - past)
    Watch.objects.update(state=detection.replay_watch(endpoint.profile).as_json())


def test_onboarding_fills_a_baseline_before_the_ttl_takes_over(
    endpoint: Endpoint, settings: Any
) -> None:
    """One full run, then light ones some minutes apart, then one a TTL."""
    Endpoint.objects.update(onboarding_left=3)
    settings.BASELINE_EVERY = timedelta(minutes=10)

    shapes, waits = [], []
    for _ in range(4):
        shapes.append(shape(carry_through()))
        waits.append(wait_of(endpoint))

    assert shapes == [
        ("baseline", "full"),
        ("baseline", "light"),
        ("baseline", "light"),
        ("ttl", "light"),
    ]
    assert [wait > timedelta(hours=1) for wait in waits] == [False, False, True, True]


def test_the_next_run_after_a_ttl_is_spread_by_a_tenth(endpoint: Endpoint) -> None:
    """A fleet registered at one moment does not march in step."""
    waits = set()
    for _ in range(5):
        carry_through()
        waits.add(wait_of(endpoint))

    assert len(waits) == 5
    assert all(endpoint.ttl * 0.9 <= wait <= endpoint.ttl * 1.1 for wait in waits)


def test_a_run_that_looks_worse_is_confirmed_soon_by_a_full_one(
    endpoint: Endpoint, settings: Any
) -> None:
    """One bad run is not believed, and not left standing for a TTL either."""
    settings.CONFIRM_AFTER = timedelta(minutes=6)
    carry_through(attempt_with(HEALTHY))

    carry_through(attempt_with(DEAD))
    soon = wait_of(endpoint)
    confirmed = carry_through(attempt_with(DEAD))

    assert timedelta(minutes=5) < soon < timedelta(minutes=7)
    assert shape(confirmed) == ("confirm", "full")


def test_a_warning_that_is_not_confirmed_is_left_to_the_schedule(endpoint: Endpoint) -> None:
    """A blip costs a few runs and nothing else."""
    carry_through(attempt_with(HEALTHY))
    carry_through(attempt_with(DEAD))

    shapes = [shape(carry_through(attempt_with(HEALTHY))) for _ in range(5)]

    calm = shapes.index(("ttl", "light"))
    assert 1 <= calm <= 4
    assert set(shapes[:calm]) == {("confirm", "full")}
    assert set(shapes[calm:]) == {("ttl", "light")}


def test_a_confirmed_degradation_is_watched_more_often_as_long_as_it_lasts(
    endpoint: Endpoint,
) -> None:
    """Recovery runs come at a quarter of the TTL; nothing but a probe can prove recovery."""
    for found in (HEALTHY, DEAD, DEAD):
        carry_through(attempt_with(found))

    triggers = set()
    for _ in range(9):
        triggers.add(shape(carry_through(attempt_with(DEAD))))
        wait = wait_of(endpoint)
        assert endpoint.ttl / 4 * 0.9 <= wait <= endpoint.ttl / 4 * 1.1

    assert triggers == {("recovery", "light")}


def test_the_schedule_takes_over_again_when_the_endpoint_has_recovered(endpoint: Endpoint) -> None:
    """Good runs end the recovery runs, though not before the incident is over."""
    for found in (HEALTHY, DEAD, DEAD):
        carry_through(attempt_with(found))
    detection.release_incident(Incident.objects.get(), by=None, note="It is mended.")
    two_days_pass(endpoint)

    shapes = []
    while Incident.objects.filter(ended_at=None):
        shapes.append(shape(carry_through(attempt_with(HEALTHY))))
        assert len(shapes) < 20

    assert set(shapes) == {("recovery", "light")}
    assert shape(carry_through(attempt_with(HEALTHY))) == ("ttl", "light")


def test_what_was_accepted_is_learned_by_a_burst(endpoint: Endpoint, settings: Any) -> None:
    """As when the endpoint was new, but light: what it can do is known."""
    settings.BASELINE_RUNS = 3
    for found in (HEALTHY, DEAD, DEAD):
        carry_through(attempt_with(found))

    detection.accept_baseline(endpoint.profile, PARSE, by=None, note="So be it.")

    assert Endpoint.objects.filter(next_due_at__lte=Now()).exists()
    shapes = [shape(carry_through(attempt_with(DEAD))) for _ in range(4)]
    assert shapes == [("baseline", "light")] * 3 + [("ttl", "light")]


def test_a_wish_from_the_api_says_so_and_goes_after_a_persons(endpoint: Endpoint) -> None:
    """Manual first, then the API, then what the schedule wants."""
    other = endpoints.create(**{**FIELDS, "slug": "two"})
    scripted = runs.request(other, by=None, trigger=Trigger.API)
    manual = runs.request(endpoint, by=None)

    order = [runs.claim(owner="me"), runs.claim(owner="me")]

    assert [lease.run_id for lease in order if lease] == [manual.pk, scripted.pk]
    assert scripted.trigger == "api"


def test_a_waiting_run_becomes_urgent_and_full_when_a_person_asks(endpoint: Endpoint) -> None:
    """The run under way is returned, but nobody waits behind the schedule for a light one."""
    carry_through()
    due_now()
    schedule.schedule_due()
    person = User.objects.create_user("ann")

    run = runs.request(endpoint, by=person, suite="full")

    assert (run.trigger, run.priority, run.suite) == ("ttl", 1, "full")
    assert run.planned == pieces("full")


def test_a_run_that_has_begun_keeps_its_suite(endpoint: Endpoint) -> None:
    """What is half done is not made longer under way."""
    carry_through()
    due_now()
    schedule.schedule_due()
    started()

    run = runs.request(endpoint, by=None, suite="full")

    assert (run.suite, run.planned) == ("light", pieces("light"))


def test_a_suite_that_only_another_worker_has_is_left_to_it(endpoint: Endpoint) -> None:
    """In a rolling upgrade no worker runs a suite it does not know."""
    schedule.schedule_due()
    Run.objects.update(suite_version="tool-probe-v0")

    assert runs.claim(owner="me") is None


def test_a_suite_that_no_living_worker_has_gives_way_to_the_present_one(
    endpoint: Endpoint,
) -> None:
    """After the upgrade an old run is superseded and the endpoint is due at once."""
    schedule.schedule_due()
    Run.objects.update(suite_version="tool-probe-v0", created_at=Now() - timedelta(hours=1))
    workers.seen("new:1")
    Worker.objects.create(name="old:1", suite_version="tool-probe-v0")
    assert schedule.retire_unserved() == 0

    Worker.objects.filter(name="old:1").delete()
    retired = schedule.retire_unserved()
    schedule.schedule_due()

    old, new = Run.objects.order_by("id")
    assert retired == 1
    assert (old.state, "superseded" in old.reason) == ("abandoned", True)
    assert new.state == "queued"


def test_a_clock_set_back_puts_nothing_to_sleep(endpoint: Endpoint) -> None:
    """Times that lie too far ahead are taken for what they are."""
    Endpoint.objects.update(next_due_at=Now() + timedelta(days=1))
    schedule.schedule_due()
    endpoint.refresh_from_db()
    assert endpoint.next_due_at - endpoint.created_at < timedelta(hours=7)

    due_now()
    schedule.schedule_due()
    Run.objects.update(not_before=Now() + timedelta(days=1), dispatched_at=Now())
    schedule.schedule_due()

    assert len(schedule.to_ring(5)) == 1


def test_a_lease_from_before_the_clock_was_set_back_is_reaped(endpoint: Endpoint) -> None:
    """A dead worker's lease does not last a day because the clock went back by one."""
    schedule.schedule_due()
    started()
    Run.objects.update(lease_expires_at=Now() + timedelta(days=1))

    assert schedule.reap() == 1


@pytest.mark.parametrize("deaths", [1, 3])
def test_each_death_of_a_worker_doubles_the_wait(
    endpoint: Endpoint, settings: Any, deaths: int
) -> None:
    """A run that kills its workers comes back ever later."""
    settings.RUN_RETRY_AFTER = timedelta(minutes=1)
    schedule.schedule_due()
    for _ in range(deaths):
        Run.objects.update(not_before=Now())
        lease = started()
        expire(lease)
        schedule.reap()

    waiting = Run.objects.filter(not_before__gt=Now() + timedelta(minutes=2 ** (deaths - 1) * 0.9))
    assert waiting.count() == 1
