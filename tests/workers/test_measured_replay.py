"""What a run measured about reasoning is the starting rule of the next one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.endpoints.services import endpoints
from dashboard.models import Endpoint, Run, RunMetric
from dashboard.runs import services as runs
from workers.probing import execute_run

pytestmark = pytest.mark.django_db(transaction=True)


def probe(endpoint: Endpoint) -> Run:
    run = runs.request_run(endpoint, by=None)
    lease = runs.claim_run(owner="test")
    assert lease
    execute_run(lease)
    run.refresh_from_db()
    assert run.state == "finished"
    return run


def counts(run: Run, metric: str) -> tuple[int, int]:
    row = RunMetric.objects.get(run=run, metric=metric)
    return row.trials, row.failures


def test_the_second_run_starts_with_the_measured_rule(vendor_url: str) -> None:
    """A vendor under `openai` that wants its reasoning back is refused once, and never again."""
    endpoint = endpoints.create(
        slug="wants",
        provider="openai",
        base_url=f"{vendor_url}/with/wants-reasoning-all-turns/open/v1",
        model="sim-steady",
        options={},
        ttl=timedelta(hours=6),
        max_concurrency=1,
        enabled=True,
        key=None,
    )

    first, second = probe(endpoint), probe(endpoint)

    assert endpoint.profile.capabilities["reasoning_replay"]["value"] == "required_all_turns"
    for run in (first, second):
        trials, failures = counts(run, "reasoning_replay_error")
        assert trials >= 4
        assert failures == 0
        trials, failures = counts(run, "closure_error")
        assert trials >= 4
        assert failures == 0
