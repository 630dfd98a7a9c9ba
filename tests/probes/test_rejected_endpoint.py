"""An endpoint that rejects every request is not sent a whole suite."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from probes import runner
from probes.outcomes import Attempt, Outcome
from probes.secret import Secret
from probes.suite import plan_trials
from probes.target import Provider, Target
from probes.transport import Transport
from simulators import virtual_time
from tests.probes.httpx_responses import answer

AT_ONCE = 2


def probe(base_url: str, model: str = "sim-steady") -> list[Attempt]:
    target = Target(Provider.OPENAI, base_url, model, Secret("sim-key"), max_concurrency=AT_ONCE)

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


def test_a_wrong_model_name_costs_a_few_requests(vendor_url: str) -> None:
    """A 404 for every question is about the endpoint's description, not about a question."""
    attempts = probe(f"{vendor_url}/openai/v1", "no-such-model")

    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert {str(attempt.findings[0].kind) for attempt in attempts} == {"not_found"}
    assert requests(attempts) <= 3 + AT_ONCE


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "The model `m-2` does not exist", "not_found"),
        (400, "m-2 is not a valid model ID", "not_found"),
        (400, "Invalid model name passed in model=m-2", "not_found"),
        (422, "Model not found: m-2", "not_found"),
        (400, "Unknown Model, please check the model code.", "not_found"),
        (402, "Insufficient Balance", "provider_error"),
        (400, "Your account is inactive (request 7f3a99b1c2d4)", "provider_error"),
        (400, "Unknown parameter: 'top_k'", "param_unknown"),
        (307, "", "redirected"),
    ],
)
def test_the_same_refusal_of_everything_stops_the_run(status: int, message: str, kind: str) -> None:
    """Three questions of different probes that get the same refusal are enough."""
    attempts = probe_mock(lambda request: answer(status, {"error": {"message": message}}))

    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert {str(attempt.findings[0].kind) for attempt in attempts} == {kind}
    assert requests(attempts) <= 20


def test_refusals_of_some_questions_stop_nothing() -> None:
    """Refusals are faster than answers: those of one probe must not end the others."""

    async def handle(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if body["messages"][-1]["role"] == "tool" or "tool_choice" in body:
            return answer(400, {"error": {"message": "Not today"}})
        await asyncio.sleep(5)
        choice = {"message": {"content": "Hello."}, "finish_reason": "stop"}
        return answer(200, {"choices": [choice]})

    attempts = probe_mock(handle, at_once=100)

    judged = [attempt for attempt in attempts if attempt.outcome is not Outcome.VOID]
    assert len(judged) > len(attempts) / 2
    assert all(attempt.evidence.requests for attempt in attempts)


def test_a_refusal_of_tools_is_judged_for_every_question() -> None:
    """The endpoint answers, and what it says is a verdict."""
    refuse = {"error": {"message": "m does not support tools"}}
    attempts = probe_mock(lambda request: answer(400, refuse))

    assert all(attempt.evidence.requests for attempt in attempts)
    assert Outcome.FAIL in {attempt.outcome for attempt in attempts}


def requests(attempts: list[Attempt]) -> int:
    return sum(attempt.evidence.requests for attempt in attempts)


def probe_mock(handle: Callable[[httpx.Request], Any], at_once: int = 1) -> list[Attempt]:
    target = Target(Provider.OPENAI, "https://e.test/v1", "m-2", max_concurrency=at_once)

    async def collect() -> list[Attempt]:
        async with Transport(inner=httpx.MockTransport(handle)) as transport:
            trials = plan_trials("full")
            stream = runner.run_trials(target, trials, seed=1, transport=transport)
            return [attempt async for attempt in stream]

    return virtual_time.run(collect())


def test_a_refusal_after_an_answer_ends_nothing(vendor_url: str) -> None:
    """An endpoint that answered once is not given up."""
    attempts = probe(f"{vendor_url}/with/auth-lost,p=0.5,seed=3/openai/v1")

    outcomes = {attempt.outcome for attempt in attempts}
    assert {Outcome.PASS, Outcome.VOID} <= outcomes
    assert all(attempt.evidence.requests for attempt in attempts)
