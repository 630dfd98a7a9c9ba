from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from dashboard.core.errors import LeaseLost
from dashboard.models import Attempt, Endpoint, Evidence, Run, RunMetric
from dashboard.runs import attempts, credentials, evidence, schedule
from dashboard.runs import services as runs
from dashboard.trust import finish
from probes.outcomes import Evidence as Exchanges
from probes.outcomes import Finding, FindingKind, Metric, Outcome
from probes.secret import Secret
from probes.suite import Trial, plan_trials
from tests.dashboard.runs.builders import attempt, claimed, ended_at, expire, observed, started
from workers.probing import carry_out


@pytest.fixture
def lease(endpoint: Endpoint) -> runs.Lease:
    schedule.schedule_due()
    return started()


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ann")


def test_scheduling_twice_queues_once(endpoint: Endpoint) -> None:
    """Any number of schedulers fill a slot once."""
    assert schedule.schedule_due() == 1
    assert schedule.schedule_due() == 0


def test_the_database_refuses_a_second_active_run(endpoint: Endpoint) -> None:
    """One active run an endpoint is a constraint, not a habit."""
    schedule.schedule_due()
    run = Run.objects.get()
    run.pk, run.seq = None, 1

    with pytest.raises(IntegrityError, match="run_one_active"), transaction.atomic():
        run.save(force_insert=True)


def test_a_run_is_claimed_by_one_worker_only(endpoint: Endpoint) -> None:
    """The second worker that answers the same doorbell finds nothing."""
    schedule.schedule_due()

    first = runs.claim(owner="a")
    second = runs.claim(owner="b")

    assert first
    assert second is None


def test_a_doorbell_is_rung_once_and_again_when_nobody_answers(
    endpoint: Endpoint, settings: Any
) -> None:
    """A lost message costs a wait, never a run."""
    schedule.schedule_due()
    assert len(schedule.to_ring(10)) == 1
    assert schedule.to_ring(10) == []

    settings.RUN_RING_AGAIN = timedelta(seconds=-1)

    assert len(schedule.to_ring(10)) == 1


def test_finishing_writes_everything_that_follows_once(
    endpoint: Endpoint, lease: runs.Lease
) -> None:
    """Counts, figures, observations and the next due time come from one transaction."""
    for trial in range(1, 5):
        attempts.record(lease, attempt(trial, Outcome.FAIL if trial == 4 else Outcome.PASS))

    finish.finish_run(lease)

    run = Run.objects.get()
    figure = RunMetric.objects.get(metric="parse_success")
    endpoint.refresh_from_db()
    assert (run.state, run.passed, run.failed, run.void) == ("finished", 3, 1, 0)
    assert (run.input_tokens, run.output_tokens) == (40, 20)
    assert (figure.trials, figure.failures) == (4, 1)
    parsed = [v.good for v in observed() if v.metric is Metric.PARSE_SUCCESS]
    assert sorted(parsed) == [False, True, True, True]
    assert endpoint.last_finished_at == run.finished_at
    wait = endpoint.next_due_at - ended_at()
    assert endpoint.ttl * 0.9 <= wait <= endpoint.ttl * 1.1


def test_a_run_cannot_be_finished_twice(lease: runs.Lease) -> None:
    """The second finish finds no run to finish and writes nothing."""
    attempts.record(lease, attempt())
    finish.finish_run(lease)

    with pytest.raises(LeaseLost):
        finish.finish_run(lease)

    assert RunMetric.objects.filter(metric="parse_success").count() == 1
    assert len([v for v in observed() if v.metric is Metric.PARSE_SUCCESS]) == 1


def test_the_same_trial_is_stored_once(lease: runs.Lease) -> None:
    """A repeated trial of a resumed run meets its first attempt."""
    attempts.record(lease, attempt(1, Outcome.PASS))
    attempts.record(lease, attempt(1, Outcome.FAIL))

    assert [row.outcome for row in Attempt.objects.all()] == ["pass"]


def test_a_worker_without_the_lease_writes_nothing(lease: runs.Lease) -> None:
    """A zombie that wakes up after its lease went to another is refused."""
    expire(lease)
    schedule.reap()
    Run.objects.update(not_before=Now())
    successor = claimed("other")
    runs.start(successor)

    with pytest.raises(LeaseLost):
        attempts.record(lease, attempt())
    with pytest.raises(LeaseLost):
        finish.finish_run(lease)

    assert Attempt.objects.count() == 0
    assert Run.objects.get().state == "running"


def test_a_lease_that_ran_out_cannot_be_renewed(lease: runs.Lease) -> None:
    """A partitioned worker learns that its time is over even before the reaper came."""
    expire(lease)

    with pytest.raises(LeaseLost):
        runs.renew(lease)


def test_a_resumed_run_asks_only_what_is_missing(lease: runs.Lease) -> None:
    """Stored attempts are not repeated by the worker that takes over."""
    attempts.record(lease, attempt(1))
    attempts.record(lease, attempt(2))
    expire(lease)
    schedule.reap()
    Run.objects.update(not_before=Now())
    successor = claimed("other")

    work = runs.start(successor)

    assert work
    stored = {Trial("format", 1), Trial("format", 2)}
    assert work.trials == tuple(trial for trial in plan_trials("full") if trial not in stored)


def test_a_run_that_kills_its_workers_is_given_up_and_the_endpoint_goes_on(
    endpoint: Endpoint, lease: runs.Lease
) -> None:
    """An abandoned run moves the next due time, or its slot would block the endpoint for ever."""
    Run.objects.update(claims=5)
    expire(lease)

    schedule.reap()

    endpoint.refresh_from_db()
    assert Run.objects.get().state == "abandoned"
    assert timedelta(0) < endpoint.next_due_at - ended_at() <= timedelta(minutes=15)
    Endpoint.objects.update(next_due_at=Now())
    assert schedule.schedule_due() == 1


def test_a_run_of_nothing_but_void_has_no_verdict(endpoint: Endpoint, lease: runs.Lease) -> None:
    """An outage is not a degradation: no figure of the model, only of its availability."""
    finding = Finding(FindingKind.UNREACHABLE, "The connection was refused.")
    attempts.record(lease, attempt(1, Outcome.VOID, findings=(finding,)))

    finish.finish_run(lease)

    run = Run.objects.get()
    endpoint.refresh_from_db()
    assert (run.state, run.reason) == ("failed", "No verdict. The connection was refused.")
    assert [(m.metric, m.failures) for m in RunMetric.objects.all()] == [("availability", 1)]
    assert endpoint.last_finished_at is None
    assert endpoint.next_due_at - ended_at() == timedelta(minutes=15)


def test_the_wait_after_fruitless_runs_doubles_up_to_the_ttl(endpoint: Endpoint) -> None:
    """A dead endpoint is asked ever more seldom, but never more seldom than its TTL."""
    waits = []
    for _ in range(7):
        Endpoint.objects.update(next_due_at=Now())
        schedule.schedule_due()
        lease = claimed()
        runs.fail(lease, reason="no adapter")
        endpoint.refresh_from_db()
        waits.append(endpoint.next_due_at - ended_at())

    assert [wait.total_seconds() / 60 for wait in waits] == [15, 30, 60, 120, 240, 360, 360]


def test_asking_for_a_run_while_one_is_under_way_returns_that_one(
    endpoint: Endpoint, person: User, lease: runs.Lease
) -> None:
    """Two people who press the button at once watch the same run."""
    assert runs.request(endpoint, by=person).pk == lease.run_id


def test_a_manual_run_goes_before_scheduled_ones(endpoint: Endpoint, person: User) -> None:
    """Who waits in front of the page is served first."""
    from dashboard.endpoints.services import endpoints
    from tests.dashboard.runs.conftest import FIELDS

    other = endpoints.create(**{**FIELDS, "slug": "two"})
    Endpoint.objects.filter(pk=other.pk).update(next_due_at=Now() + timedelta(hours=1))
    schedule.schedule_due()
    asked = runs.request(other, by=person)

    assert claimed().run_id == asked.pk


def test_a_cancelled_run_stops_whoever_works_on_it(lease: runs.Lease) -> None:
    """Cancelling takes the lease away; the worker's next write is refused."""
    run = Run.objects.get()

    assert runs.cancel(run, by="ann")
    assert not runs.cancel(run, by="ann")

    with pytest.raises(LeaseLost):
        attempts.record(lease, attempt())
    assert Run.objects.get().reason == "cancelled by ann"


def test_an_endpoint_that_cannot_be_probed_fails_with_the_reason(
    endpoint: Endpoint, settings: Any
) -> None:
    """A key that no longer opens is said in the run; nothing is sent without it."""
    credentials.store(endpoint, Secret("sk-sealed-0123456789"))
    settings.CREDENTIAL_KEYS = [b"x" * 32]
    schedule.schedule_due()
    lease = claimed()

    carry_out(lease)

    run = Run.objects.get()
    assert (run.state, run.passed + run.failed + run.void) == ("failed", 0)
    assert "enter the credential again" in run.reason


def test_evidence_opens_as_it_was_stored_and_equal_evidence_is_stored_once(
    lease: runs.Lease,
) -> None:
    """An attempt leads to its exchange; the same bytes take their room once."""
    same = Exchanges(({"label": "asked"}, {"label": "with the result"}))
    attempts.record(lease, attempt(1, evidence=same))
    attempts.record(lease, attempt(2, evidence=same))

    assert Evidence.objects.count() == 1
    assert evidence.read(Attempt.objects.all()[1]) == same.as_json()


def test_text_that_postgres_cannot_hold_is_stored_marked(lease: runs.Lease) -> None:
    """NUL and lone surrogates in a model's words must not lose the attempt."""
    finding = Finding(FindingKind.WRONG_VALUE, "a\x00b\ud800c")
    attempts.record(lease, attempt(1, Outcome.FAIL, findings=(finding,)))

    assert Attempt.objects.get().findings[0]["message"] == "a\ufffdb?c"
