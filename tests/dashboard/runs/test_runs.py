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
from tests.dashboard.runs.builders import (
    build_attempt,
    claim_next_run,
    expire_lease,
    last_finished_at,
    read_stored_verdicts,
    start_next_run,
)
from workers.probing import execute_run


@pytest.fixture
def lease(endpoint: Endpoint) -> runs.Lease:
    schedule.schedule_due()
    return start_next_run()


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_user("ann")


def test_scheduling_twice_queues_once(endpoint: Endpoint) -> None:
    """A second scheduler does not fill the same slot."""
    assert schedule.schedule_due() == 1
    assert schedule.schedule_due() == 0


def test_the_database_refuses_a_second_active_run(endpoint: Endpoint) -> None:
    """One active run per endpoint is a database constraint."""
    schedule.schedule_due()
    run = Run.objects.get()
    run.pk, run.seq = None, 1

    with pytest.raises(IntegrityError, match="run_one_active"), transaction.atomic():
        run.save(force_insert=True)


def test_a_run_is_claimed_by_one_worker_only(endpoint: Endpoint) -> None:
    """The second worker that tries to claim the same run gets nothing."""
    schedule.schedule_due()

    first = runs.claim_run(owner="a")
    second = runs.claim_run(owner="b")

    assert first
    assert second is None


def test_a_wakeup_is_sent_once_and_again_after_a_while(endpoint: Endpoint, settings: Any) -> None:
    """A lost message delays a run, but does not lose it."""
    schedule.schedule_due()
    assert len(schedule.claim_wakeups(10)) == 1
    assert schedule.claim_wakeups(10) == []

    settings.RUN_RING_AGAIN = timedelta(seconds=-1)

    assert len(schedule.claim_wakeups(10)) == 1


def test_finishing_writes_all_results_once(endpoint: Endpoint, lease: runs.Lease) -> None:
    """Counts, figures, observations and the next due time are written in one transaction."""
    for trial in range(1, 5):
        attempts.record_attempt(
            lease, build_attempt(trial, Outcome.FAIL if trial == 4 else Outcome.PASS)
        )

    finish.finish_run(lease)

    run = Run.objects.get()
    figure = RunMetric.objects.get(metric="parse_success")
    endpoint.refresh_from_db()
    assert (run.state, run.passed, run.failed, run.void) == ("finished", 3, 1, 0)
    assert (run.input_tokens, run.output_tokens) == (40, 20)
    assert (figure.trials, figure.failures) == (4, 1)
    parsed = [v.good for v in read_stored_verdicts() if v.metric is Metric.PARSE_SUCCESS]
    assert sorted(parsed) == [False, True, True, True]
    assert endpoint.last_finished_at == run.finished_at
    wait = endpoint.next_due_at - last_finished_at()
    assert endpoint.ttl * 0.9 <= wait <= endpoint.ttl * 1.1


def test_retried_answers_are_counted_per_run(endpoint: Endpoint, lease: runs.Lease) -> None:
    """An endpoint that slowed a run down can be told from one that did not."""
    attempts.record_attempt(lease, build_attempt(1, retried={"429": 20}))
    attempts.record_attempt(lease, build_attempt(2, retried={"429": 8, "503": 1}))
    attempts.record_attempt(lease, build_attempt(3))

    finish.finish_run(lease)

    assert Run.objects.get().retried == {"429": 28, "503": 1}
    assert [row.retried for row in Attempt.objects.order_by("trial")][2] == {}


def test_a_run_cannot_be_finished_twice(lease: runs.Lease) -> None:
    """The second finish raises LeaseLost and writes nothing."""
    attempts.record_attempt(lease, build_attempt())
    finish.finish_run(lease)

    with pytest.raises(LeaseLost):
        finish.finish_run(lease)

    assert RunMetric.objects.filter(metric="parse_success").count() == 1
    assert len([v for v in read_stored_verdicts() if v.metric is Metric.PARSE_SUCCESS]) == 1


def test_the_same_trial_is_stored_once(lease: runs.Lease) -> None:
    """A repeated trial of a resumed run keeps its first attempt."""
    attempts.record_attempt(lease, build_attempt(1, Outcome.PASS))
    attempts.record_attempt(lease, build_attempt(1, Outcome.FAIL))

    assert [row.outcome for row in Attempt.objects.all()] == ["pass"]


def test_a_worker_without_the_lease_writes_nothing(lease: runs.Lease) -> None:
    """A worker that resumes after its run went to another worker is refused."""
    expire_lease(lease)
    schedule.reap_expired_leases()
    Run.objects.update(not_before=Now())
    successor = claim_next_run("other")
    runs.start_run(successor)

    with pytest.raises(LeaseLost):
        attempts.record_attempt(lease, build_attempt())
    with pytest.raises(LeaseLost):
        finish.finish_run(lease)

    assert Attempt.objects.count() == 0
    assert Run.objects.get().state == "running"


def test_an_expired_lease_cannot_be_renewed(lease: runs.Lease) -> None:
    """A partitioned worker cannot renew an expired lease, even before it is reaped."""
    expire_lease(lease)

    with pytest.raises(LeaseLost):
        runs.renew_lease(lease)


def test_a_resumed_run_runs_only_missing_trials(lease: runs.Lease) -> None:
    """The worker that takes over does not repeat stored attempts."""
    attempts.record_attempt(lease, build_attempt(1))
    attempts.record_attempt(lease, build_attempt(2))
    expire_lease(lease)
    schedule.reap_expired_leases()
    Run.objects.update(not_before=Now())
    successor = claim_next_run("other")

    work = runs.start_run(successor)

    assert work
    stored = {Trial("format", 1), Trial("format", 2)}
    assert work.trials == tuple(trial for trial in plan_trials("full") if trial not in stored)


def test_a_run_that_kills_its_workers_is_abandoned(endpoint: Endpoint, lease: runs.Lease) -> None:
    """An abandoned run moves the next due time, so that its slot does not block the endpoint."""
    Run.objects.update(claims=5)
    expire_lease(lease)

    schedule.reap_expired_leases()

    endpoint.refresh_from_db()
    assert Run.objects.get().state == "abandoned"
    assert timedelta(0) < endpoint.next_due_at - last_finished_at() <= timedelta(minutes=15)
    Endpoint.objects.update(next_due_at=Now())
    assert schedule.schedule_due() == 1


def test_a_run_with_only_void_attempts_has_no_verdict(
    endpoint: Endpoint, lease: runs.Lease
) -> None:
    """An outage is not a degradation: only the availability has a figure."""
    finding = Finding(FindingKind.UNREACHABLE, "The connection was refused.")
    attempts.record_attempt(lease, build_attempt(1, Outcome.VOID, findings=(finding,)))

    finish.finish_run(lease)

    run = Run.objects.get()
    endpoint.refresh_from_db()
    assert (run.state, run.reason) == ("failed", "No verdict. The connection was refused.")
    assert [(m.metric, m.failures) for m in RunMetric.objects.all()] == [("availability", 1)]
    assert endpoint.last_finished_at is None
    assert endpoint.next_due_at - last_finished_at() == timedelta(minutes=15)


def test_the_wait_after_fruitless_runs_doubles_up_to_the_ttl(endpoint: Endpoint) -> None:
    """A dead endpoint is probed less and less often, but at least once per TTL."""
    waits = []
    for _ in range(7):
        Endpoint.objects.update(next_due_at=Now())
        schedule.schedule_due()
        lease = claim_next_run()
        runs.fail_run(lease, reason="no adapter")
        endpoint.refresh_from_db()
        waits.append(endpoint.next_due_at - last_finished_at())

    assert [wait.total_seconds() / 60 for wait in waits] == [15, 30, 60, 120, 240, 360, 360]


def test_requesting_a_run_returns_the_active_one(
    endpoint: Endpoint, person: User, lease: runs.Lease
) -> None:
    """Two users who request a run at the same time get the same run."""
    assert runs.request_run(endpoint, by=person).pk == lease.run_id


def test_a_manual_run_goes_before_scheduled_ones(endpoint: Endpoint, person: User) -> None:
    """A manual run has priority over scheduled runs."""
    from dashboard.endpoints.services import endpoints
    from tests.dashboard.runs.conftest import FIELDS

    other = endpoints.create(**{**FIELDS, "slug": "two"})
    Endpoint.objects.filter(pk=other.pk).update(next_due_at=Now() + timedelta(hours=1))
    schedule.schedule_due()
    requested = runs.request_run(other, by=person)

    assert claim_next_run().run_id == requested.pk


def test_a_cancelled_run_stops_its_worker(lease: runs.Lease) -> None:
    """Cancelling revokes the lease; the worker's next write is refused."""
    run = Run.objects.get()

    assert runs.cancel_run(run, by="ann")
    assert not runs.cancel_run(run, by="ann")

    with pytest.raises(LeaseLost):
        attempts.record_attempt(lease, build_attempt())
    assert Run.objects.get().reason == "cancelled by ann"


def test_an_endpoint_that_cannot_be_probed_fails_with_the_reason(
    endpoint: Endpoint, settings: Any
) -> None:
    """A key that cannot be decrypted is the reason of the run; nothing is sent without it."""
    credentials.store_key(endpoint, Secret("sk-sealed-0123456789"))
    settings.CREDENTIAL_KEYS = [b"x" * 32]
    schedule.schedule_due()
    lease = claim_next_run()

    execute_run(lease)

    run = Run.objects.get()
    assert (run.state, run.passed + run.failed + run.void) == ("failed", 0)
    assert "enter the credential again" in run.reason


def test_equal_evidence_is_stored_once(
    lease: runs.Lease,
) -> None:
    """Evidence is read back unchanged, and equal evidence is stored once."""
    same = Exchanges(({"label": "asked"}, {"label": "with the result"}))
    attempts.record_attempt(lease, build_attempt(1, evidence=same))
    attempts.record_attempt(lease, build_attempt(2, evidence=same))

    assert Evidence.objects.count() == 1
    assert evidence.read_evidence(Attempt.objects.all()[1]) == same.as_json()


def test_text_that_postgres_cannot_store_is_replaced(lease: runs.Lease) -> None:
    """NUL and lone surrogates in a message are replaced, and the attempt is stored."""
    finding = Finding(FindingKind.WRONG_VALUE, "a\x00b\ud800c")
    attempts.record_attempt(lease, build_attempt(1, Outcome.FAIL, findings=(finding,)))

    assert Attempt.objects.get().findings[0]["message"] == "a\ufffdb?c"
