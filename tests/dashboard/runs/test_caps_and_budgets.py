"""No provider is overrun, and no endpoint costs more a day than it may."""

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
from tests.dashboard.runs.builders import attempt, carry_through, claimed, due_now, expire, started
from tests.dashboard.runs.conftest import FIELDS


def fleet(count: int, **over: Any) -> None:
    for number in range(count):
        endpoints.create(**{**FIELDS, "slug": f"e{number}", **over})


def spent() -> tuple[int, int]:
    spend = Spend.objects.get()
    return spend.requests, spend.tokens


def change(endpoint: Endpoint, **over: Any) -> None:
    endpoint.refresh_from_db()
    fields = {name: getattr(endpoint, name) for name in endpoints.FIELDS}
    endpoints.update(endpoint, **{"key": None, "forget_key": False, **fields, **over})


def test_a_provider_gets_only_so_many_runs_at_once(db: None, settings: Any) -> None:
    """The cap of one provider does not hold up another."""
    settings.PROVIDER_RUNS = 2
    fleet(4)
    endpoints.create(**{**FIELDS, "slug": "other", "provider": "anthropic"})
    schedule.schedule_due()

    leases = [lease for _ in range(5) if (lease := runs.claim(owner="me"))]

    assert len(leases) == 3
    assert "other" in {lease.slug for lease in leases}


def test_a_place_is_free_again_when_its_run_ends(db: None, settings: Any) -> None:
    """Ended, cancelled or reaped: the next run of the provider can begin."""
    settings.PROVIDER_RUNS = 1
    fleet(4)
    schedule.schedule_due()

    finished = started()
    attempts.record(finished, attempt())
    finish.finish_run(finished)
    failed = claimed()
    runs.fail(failed, reason="no")
    expire(claimed())
    schedule.reap()

    assert runs.claim(owner="me")


def test_an_exception_gives_a_provider_another_cap(db: None, settings: Any) -> None:
    """A machine of one's own may take fewer runs than a vendor."""
    settings.PROVIDER_RUNS_EXCEPT = {"openai": 1}
    fleet(3)
    schedule.schedule_due()

    assert runs.claim(owner="me")
    assert runs.claim(owner="me") is None


def test_the_database_refuses_two_runs_in_one_place(db: None) -> None:
    """The cap is a constraint: two claims at once cannot both take the last place."""
    fleet(2)
    schedule.schedule_due()
    claimed()
    claimed()
    with pytest.raises(IntegrityError, match="run_provider_slot"), transaction.atomic():
        Run.objects.update(slot=1)


def test_what_a_run_may_cost_is_reserved_and_what_it_did_not_cost_is_given_back(
    endpoint: Endpoint,
) -> None:
    """In the end a day's spend is what its attempts took, and the look at the engine."""
    schedule.schedule_due()
    lease = started()
    reserved = spent()
    two = Evidence(({"request": {"url": "asked"}}, {"request": {"url": "again"}}))
    attempts.record(lease, attempt(1, evidence=two, usage=Usage(100, 20)))
    attempts.record(lease, attempt(2, usage=Usage(10, 5)))
    Run.objects.update(fingerprint={}, reserved_requests=0, reserved_tokens=0)
    before = spent()

    finish.finish_run(lease)

    assert reserved[0] > 60
    assert spent() == before
    assert Run.objects.get().requests == 3


def test_a_cancelled_run_gives_back_what_it_had_not_used(endpoint: Endpoint) -> None:
    """A run that was stopped does not eat the day's budget."""
    schedule.schedule_due()
    lease = started()
    attempts.record(lease, attempt(1, usage=Usage(100, 20)))

    runs.cancel(Run.objects.get(pk=lease.run_id), by="ann")

    assert spent() == (1, 120)


def test_a_dead_workers_reservation_is_given_back(endpoint: Endpoint) -> None:
    """A budget is not lost with the worker that held some of it."""
    schedule.schedule_due()
    lease = started()
    attempts.record(lease, attempt(1, usage=Usage(100, 20)))
    expire(lease)

    schedule.reap()

    assert spent() == (1, 120)


def test_an_answer_that_tells_no_tokens_costs_what_was_reserved(endpoint: Endpoint) -> None:
    """What is not known is not taken for nothing; a void attempt costs no tokens."""
    schedule.schedule_due()
    lease = started()
    attempts.record(lease, attempt(1, usage=Usage()))
    dear = spent()
    attempts.record(lease, attempt(2, Outcome.VOID, usage=Usage()))

    runs.cancel(Run.objects.get(pk=lease.run_id), by="ann")

    assert dear[1] > 1000
    assert 1000 < spent()[1] < dear[1]


def test_a_run_beyond_the_days_budget_does_not_begin(endpoint: Endpoint) -> None:
    """It fails with the figures, sends nothing, and the endpoint waits for the next day."""
    Endpoint.objects.update(daily_requests=10)
    schedule.schedule_due()
    lease = claimed()

    assert runs.start(lease) is None

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
    """Runs are carried out until the next one might not fit; the limit is never passed."""
    carry_through(attempt(1, usage=Usage(1000, 1000)))
    limit = {"daily_requests": 60, "daily_tokens": 200_000}[kind]
    Endpoint.objects.update(**{kind: limit})

    states = []
    for _ in range(80):
        due_now()
        schedule.schedule_due()
        lease = claimed()
        if runs.start(lease):
            attempts.record(lease, attempt(1, usage=Usage(1000, 1000)))
            finish.finish_run(lease)
        states.append(Run.objects.get(pk=lease.run_id).state)
        requests, tokens = spent()
        assert (requests if kind == "daily_requests" else tokens) <= limit

    assert {"finished", "failed"} == set(states)
    assert states == sorted(states, reverse=True)


def test_a_raised_budget_ends_the_wait(endpoint: Endpoint) -> None:
    """Who raises the budget need not wait for the next day."""
    Endpoint.objects.update(daily_requests=10)
    schedule.schedule_due()
    runs.start(claimed())
    assert schedule.schedule_due() == 0

    change(endpoint, daily_requests=1000)

    assert schedule.schedule_due() == 1


def test_waiting_for_the_next_day_is_not_taken_for_a_clock_set_back(endpoint: Endpoint) -> None:
    """An endpoint with a short TTL stays asleep until its budget is new."""
    Endpoint.objects.update(daily_requests=10, ttl=timedelta(minutes=5))
    schedule.schedule_due()
    runs.start(claimed())

    assert schedule.schedule_due() == 0
    endpoint.refresh_from_db()
    assert endpoint.next_due_at > Run.objects.get().created_at
    assert endpoint.spent_out_on is not None
