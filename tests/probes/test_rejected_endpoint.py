"""An endpoint that rejects every request is not sent a whole suite."""

from __future__ import annotations

import asyncio

import pytest

from probes import runner
from probes.outcomes import Attempt, Outcome
from probes.secret import Secret
from probes.suite import plan_trials
from probes.target import Provider, Target

AT_ONCE = 2


def probe(base_url: str) -> list[Attempt]:
    target = Target(
        Provider.OPENAI, base_url, "sim-steady", Secret("sim-key"), max_concurrency=AT_ONCE
    )

    async def collect() -> list[Attempt]:
        return [attempt async for attempt in runner.run_trials(target, plan_trials("full"), seed=1)]

    return asyncio.run(collect())


@pytest.mark.parametrize("door", ["unauthorized", "forbidden"])
def test_a_rejected_key_costs_a_few_requests_and_every_attempt_says_why(
    vendor_url: str, door: str
) -> None:
    """The first rejections are enough; unsent attempts have no requests."""
    attempts = probe(f"{vendor_url}/hostile/{door}/v1")

    assert len(attempts) == len(plan_trials("full"))
    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert len({attempt.findings[0].message for attempt in attempts}) == 1
    assert sum(attempt.evidence.requests for attempt in attempts) <= 3 + AT_ONCE


def test_an_endpoint_that_is_not_there_is_tried_a_few_times() -> None:
    """A refused connection is not retried for every question."""
    attempts = probe("http://127.0.0.1:1/v1")

    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert sum(attempt.evidence.requests for attempt in attempts) <= 3 + AT_ONCE


def test_a_refusal_after_an_answer_ends_nothing(vendor_url: str) -> None:
    """An endpoint that answered once is not given up."""
    attempts = probe(f"{vendor_url}/with/auth-lost,p=0.5,seed=3/openai/v1")

    outcomes = {attempt.outcome for attempt in attempts}
    assert {Outcome.PASS, Outcome.VOID} <= outcomes
    assert all(attempt.evidence.requests for attempt in attempts)
