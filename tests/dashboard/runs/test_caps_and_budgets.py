"""Caps on concurrent runs per provider, and daily budgets per endpoint."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Run, Spend
from dashboard.runs import attempts, schedule
from dashboard.runs import services as runs
from dashboard.trust import finish
from probes.messages import Usage
from probes.outcomes import Evidence, Outcome
from tests.dashboard.runs.builders import (
    build_attempt,
    claim_next_run,
    complete_run,
    expire_lease,
    make_endpoints_due,
    start_next_run,
)
from tests.dashboard.runs.conftest import FIELDS


def create_endpoints(count: int, **over: Any) -> None:
    for number in range(count):
        endpoints.create(**{**FIELDS, "slug": f"e{number}", **over})


def read_spent() -> tuple[int, int]:
    spend = Spend.objects.get()
    return spend.requests, spend.tokens


def update_endpoint(endpoint: Endpoint, **over: Any) -> None:
    endpoint.refresh_from_db()
    fields = {name: getattr(endpoint, name) for name in endpoints.FIELDS}
    endpoints.update(endpoint, **{"key": None, "forget_key": False, **fields, **over})


def test_a_provider_has_a_cap_on_concurrent_runs(db: None, settings: Any) -> None:
    """The cap of one provider does not delay another."""
    settings.PROVIDER_RUNS = 2
    create_endpoints(4)
    endpoints.create(**{**FIELDS, "slug": "other", "provider": "anthropic"})
    schedule.schedule_due()

    leases = [lease for _ in range(5) if (lease := runs.claim_run(owner="me"))]

    assert len(leases) == 3
    assert "other" in {lease.slug for lease in leases}


def test_a_slot_is_free_again_when_its_run_ends(db: None, settings: Any) -> None:
    """After a run finished, failed or was reaped, the next run of its provider can start."""
    settings.PROVIDER_RUNS = 1
    create_endpoints(4)
    schedule.schedule_due()

    finished = start_next_run()
    attempts.record_attempt(finished, build_attempt())
    finish.finish_run(finished)
    failed = claim_next_run()
    runs.fail_run(failed, reason="no")
    expire_lease(claim_next_run())
    schedule.reap_expired_leases()

    assert runs.claim_run(owner="me")


def test_an_exception_gives_a_provider_another_cap(db: None, settings: Any) -> None:
    """PROVIDER_RUNS_EXCEPT overrides the cap of a provider."""
    settings.PROVIDER_RUNS_EXCEPT = {"openai": 1}
    create_endpoints(3)
    schedule.schedule_due()

    assert runs.claim_run(owner="me")
    assert runs.claim_run(owner="me") is None


def test_the_database_refuses_two_runs_in_one_slot(db: None) -> None:
    """The cap is a constraint: two concurrent claims cannot both get the last slot."""
    create_endpoints(2)
    schedule.schedule_due()
    claim_next_run()
    claim_next_run()
    with pytest.raises(IntegrityError, match="run_provider_slot"), transaction.atomic():
        Run.objects.update(slot=1)


def test_the_maximum_cost_is_reserved_and_the_rest_refunded(
    endpoint: Endpoint,
) -> None:
    """At the end the spend of a day is the cost of its attempts and of the engine read."""
    schedule.schedule_due()
    lease = start_next_run()
    reserved = read_spent()
    two = Evidence(({"request": {"url": "asked"}}, {"request": {"url": "again"}}))
    attempts.record_attempt(lease, build_attempt(1, evidence=two, usage=Usage(100, 20)))
    attempts.record_attempt(lease, build_attempt(2, usage=Usage(10, 5)))
    Run.objects.update(fingerprint={}, reserved_requests=0, reserved_tokens=0)
    before = read_spent()

    finish.finish_run(lease)

    assert reserved[0] > 60
    assert read_spent() == before
    assert Run.objects.get().requests == 3


def test_a_cancelled_run_refunds_its_reservation(endpoint: Endpoint) -> None:
    """A cancelled run costs only what its attempts cost."""
    schedule.schedule_due()
    lease = start_next_run()
    attempts.record_attempt(lease, build_attempt(1, usage=Usage(100, 20)))

    runs.cancel_run(Run.objects.get(pk=lease.run_id), by="ann")

    assert read_spent() == (1, 120)


def test_the_reservation_of_a_dead_worker_is_refunded(endpoint: Endpoint) -> None:
    """Reaping a run refunds what its worker had reserved."""
    schedule.schedule_due()
    lease = start_next_run()
    attempts.record_attempt(lease, build_attempt(1, usage=Usage(100, 20)))
    expire_lease(lease)

    schedule.reap_expired_leases()

    assert read_spent() == (1, 120)


def test_a_reply_without_usage_costs_what_was_reserved(endpoint: Endpoint) -> None:
    """Unknown usage does not count as zero, but a void attempt costs no tokens."""
    schedule.schedule_due()
    lease = start_next_run()
    attempts.record_attempt(lease, build_attempt(1, usage=Usage()))
    after_unknown = read_spent()
    attempts.record_attempt(lease, build_attempt(2, Outcome.VOID, usage=Usage()))

    runs.cancel_run(Run.objects.get(pk=lease.run_id), by="ann")

    assert after_unknown[1] > 1000
    assert 1000 < read_spent()[1] < after_unknown[1]


def test_a_run_over_the_daily_budget_does_not_start(endpoint: Endpoint) -> None:
    """The run fails with a reason, sends nothing, and the endpoint waits for the next day."""
    Endpoint.objects.update(daily_requests=10)
    schedule.schedule_due()
    lease = claim_next_run()

    assert runs.start_run(lease) is None

    run = Run.objects.get()
    endpoint.refresh_from_db()
    assert run.state == "failed"
    assert "The budget of 10 requests a day leaves no room" in run.reason
    assert not Spend.objects.filter(requests__gt=0).exists()
    assert run.finished_at
    tomorrow = run.finished_at.astimezone(UTC).date() + timedelta(days=1)
    assert endpoint.next_due_at.astimezone(UTC).date() == tomorrow
    assert endpoint.fruitless == 0


@pytest.mark.parametrize("kind", ["daily_requests", "daily_tokens"])
def test_budgets_hold_over_the_runs_of_a_day(endpoint: Endpoint, kind: str) -> None:
    """Runs start until the next one might not fit; the limit is never exceeded."""
    complete_run(build_attempt(1, usage=Usage(1000, 1000)))
    limit = {"daily_requests": 60, "daily_tokens": 300_000}[kind]
    Endpoint.objects.update(**{kind: limit})

    states = []
    for _ in range(80):
        make_endpoints_due()
        schedule.schedule_due()
        lease = claim_next_run()
        if runs.start_run(lease):
            attempts.record_attempt(lease, build_attempt(1, usage=Usage(1000, 1000)))
            finish.finish_run(lease)
        states.append(Run.objects.get(pk=lease.run_id).state)
        requests, tokens = read_spent()
        assert (requests if kind == "daily_requests" else tokens) <= limit

    assert {"finished", "failed"} == set(states)
    assert states == sorted(states, reverse=True)


def test_a_raised_budget_ends_the_wait(endpoint: Endpoint) -> None:
    """After the budget is raised, the endpoint is due at once."""
    Endpoint.objects.update(daily_requests=10)
    schedule.schedule_due()
    runs.start_run(claim_next_run())
    assert schedule.schedule_due() == 0

    update_endpoint(endpoint, daily_requests=1000)

    assert schedule.schedule_due() == 1


def test_waiting_for_the_next_day_is_not_mistaken_for_a_clock_set_back(endpoint: Endpoint) -> None:
    """An endpoint with a short TTL waits until its budget is renewed."""
    Endpoint.objects.update(daily_requests=10, ttl=timedelta(minutes=5))
    schedule.schedule_due()
    runs.start_run(claim_next_run())

    assert schedule.schedule_due() == 0
    endpoint.refresh_from_db()
    assert endpoint.next_due_at > Run.objects.get().created_at
    assert endpoint.spent_out_on is not None
