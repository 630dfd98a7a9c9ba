"""A stateful test of runs: its rules call the services in random order.

Three endpoints of two providers. Time passes by moving stored times into the past, since only the
database's clock counts. Every example is a savepoint that is rolled back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.test import override_settings
from hypothesis.stateful import RuleBasedStateMachine, invariant
from typing_extensions import override

from dashboard.core.errors import LeaseLost
from dashboard.core.sql import execute, fetch_row, fetch_rows
from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Run, Spend
from dashboard.runs.services import Lease
from probes.fingerprint import MOST_REQUESTS, MOST_TOKENS
from probes.suite import SUITE_VERSION, Trial, plan_trials
from probes.suite.sampling import estimate_price
from tests.dashboard.runs.conftest import FIELDS
from tests.dashboard.runs.run_invariants import table_checksums, violations
from tests.dashboard.runs.run_model import LEASE, Cost, Key, Model

PROVIDERS = ("openai", "openai", "anthropic")


class RunMachine(RuleBasedStateMachine):
    """The model, and helpers that rules share."""

    def __init__(self) -> None:
        super().__init__()
        self._settings = override_settings(RUN_LEASE=LEASE, PROVIDER_RUNS=1)
        self._settings.enable()
        self._savepoint = transaction.atomic()
        self._savepoint.__enter__()
        # The database uses random() too: the same steps must give the same rows.
        execute("SELECT setseed(0)")
        self.model = Model()
        self.engine_known: set[int] = set()  # runs with facts about the engine
        self.steps = 0
        for number, provider in enumerate(PROVIDERS):
            fields = {**FIELDS, "slug": f"e{number}", "provider": provider}
            endpoint = endpoints.create(**fields)
            self.model.keys[endpoint.pk] = Key(1, endpoint.model)
        self.endpoint_ids = sorted(self.model.keys)

    @override
    def teardown(self) -> None:
        transaction.set_rollback(True)
        self._savepoint.__exit__(None, None, None)
        self._settings.disable()

    @invariant()
    def all_invariants_hold(self) -> None:
        self.steps += 1
        violated = violations(self.model)
        assert not violated, "\n".join(violated)

    def endpoint(self, number: int) -> Endpoint:
        return Endpoint.objects.get(pk=self.endpoint_ids[number])

    def change(self, endpoint_id: int, **fields: Any) -> bool:
        endpoint = Endpoint.objects.get(pk=endpoint_id)
        changed = endpoints.update(endpoint, key=None, forget_key=False, **fields)
        return changed.new_epoch

    @contextmanager
    def refused(self) -> Iterator[None]:
        """The block must raise LeaseLost and change no row."""
        before = table_checksums()
        with pytest.raises(LeaseLost):
            yield
        assert table_checksums() == before, "a write without a lease left a trace"

    def pass_time(self, span: timedelta) -> None:
        self.model.pass_time(span)
        days = {"span": span, "days": span.days}
        for statement in _MOVE_INTO_PAST:
            execute(statement, days)

    def separate_waits(self, waiting: QuerySet[Run]) -> None:
        """Give waiting runs distinct times, so that the order of claims is deterministic."""
        for run in waiting:
            apart = timedelta(seconds=1) - timedelta(microseconds=run.pk % 1_000_000)
            Run.objects.filter(pk=run.pk).update(not_before=F("not_before") - apart)

    def remaining_trials(self, run: Run) -> tuple[Trial, ...]:
        """The trials of a run without an attempt."""
        return tuple(
            trial
            for trial in plan_trials(run.suite)
            if (run.pk, trial.probe, trial.trial) not in self.model.attempts
        )

    def remaining_cost(self, run: Run) -> Cost:
        """The maximum cost of the rest of a run, including the read of the engine."""
        cost = estimate_price(self.remaining_trials(run))
        extra = (0, 0) if run.pk in self.engine_known else (MOST_REQUESTS, MOST_TOKENS)
        return cost.requests + extra[0], cost.tokens + extra[1]

    def fits(self, run: Run) -> bool:
        """Whether the maximum cost of a run fits into today's remaining budget."""
        limits = (run.endpoint.daily_requests, run.endpoint.daily_tokens)
        return all(
            limit is None or spent + cost <= limit
            for limit, spent, cost in zip(
                limits, self.spent(run.endpoint_id), self.remaining_cost(run), strict=True
            )
        )

    def spent(self, endpoint_id: int) -> Cost:
        spend = Spend.objects.filter(endpoint_id=endpoint_id, day=_today()).first()
        return (spend.requests, spend.tokens) if spend else (0, 0)

    def claimable(self) -> dict[int, tuple[Any, ...]]:
        """The runs that can be claimed now, each with its urgency."""
        under_way = Counter(Run.objects.get(pk=run_id).provider for run_id in self.model.holders)
        return {
            id_: tuple(urgency)
            for id_, provider, *urgency in fetch_rows(_WAITING, {"version": SUITE_VERSION})
            if under_way[provider] < provider_cap(provider)
        }

    def active(self, endpoint: Endpoint) -> Run | None:
        return endpoint.runs.active().first()

    def reserved_on(self, lease: Lease) -> date:
        day = Run.objects.values_list("reserved_on", flat=True).get(pk=lease.run_id)
        assert day
        return day


def provider_cap(provider: str) -> int:
    return int(settings.PROVIDER_RUNS_EXCEPT.get(provider, settings.PROVIDER_RUNS))


def due_endpoint_ids() -> set[int]:
    """The endpoints that are due and have no active run."""
    return {id_ for (id_,) in fetch_rows(_DUE)}


def _today() -> date:
    row = fetch_row("SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date")
    assert row
    day: date = row[0]
    return day


# A day moves in two steps, since the row of another day may still have the target date.
_MOVE_INTO_PAST = (
    """
    UPDATE dashboard_run SET lease_expires_at = lease_expires_at - %(span)s,
        not_before = not_before - %(span)s, dispatched_at = dispatched_at - %(span)s,
        due_at = due_at - %(span)s, reserved_on = reserved_on - %(days)s::int
    """,
    """
    UPDATE dashboard_endpoint SET next_due_at = next_due_at - %(span)s,
        spent_out_on = spent_out_on - %(days)s::int
    """,
    "UPDATE dashboard_spend SET day = day - 9000 - %(days)s::int",
    "UPDATE dashboard_spend SET day = day + 9000",
)

_WAITING = """
SELECT id, provider, priority, not_before FROM dashboard_run
WHERE state = 'queued' AND not_before <= statement_timestamp() AND suite_version = %(version)s
"""

_DUE = """
SELECT id FROM dashboard_endpoint e WHERE enabled AND next_due_at <= statement_timestamp()
    AND NOT EXISTS (SELECT 1 FROM dashboard_run r
        WHERE r.endpoint_id = e.id AND r.finished_at IS NULL)
"""
