from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import replace

import httpx
import pytest

from probes.measurement import MeasurementPlan, measure_endpoint
from probes.outcomes import Attempt, Evidence, FindingKind, Outcome
from probes.suite import plan_trials
from probes.suite.sampling import MAX_SAMPLES, estimate_price
from probes.target import Limits, Provider, Target
from probes.transport import Transport
from simulators import virtual_time
from tests.probes.httpx_responses import answer, answer_chat

LIMITS = Limits(1000, 1000, 1000, 1000, 1000)
TARGET = Target(Provider.OPENAI, "https://e.test/v1", "m", limits=LIMITS)
# Two whole and two streamed trials of each probe.
PLAN = MeasurementPlan("light", samples=4)
PLAINEST = "Copy the message character for character"
Handler = Callable[[httpx.Request], Coroutine[None, None, httpx.Response]]


def run_measurement(
    handle: Handler, plan: MeasurementPlan = PLAN, target: Target = TARGET
) -> list[Attempt]:
    async def main() -> list[Attempt]:
        async with Transport(LIMITS, inner=httpx.MockTransport(handle)) as transport:
            attempts = [
                a async for a in measure_endpoint(target, plan, seed="s", transport=transport)
            ]
        assert asyncio.all_tasks() == {asyncio.current_task()}, "no task is left"
        return attempts

    return virtual_time.run(main())


def says(request: httpx.Request, text: str | None, **message: object) -> httpx.Response:
    choice = {"message": {"content": text, **message}, "finish_reason": "stop"}
    return answer_chat(request, {"choices": [choice]})


async def talk(request: httpx.Request) -> httpx.Response:
    """Prose for every question: every expected call is missing."""
    return says(request, "I would rather not.")


class Wavering:
    """Prose for everything but the simplest question.

    That one is answered well every other time that it is asked whole, and streamed.
    """

    def __init__(self) -> None:
        self.counts: Counter[bool] = Counter()

    @property
    def count(self) -> int:
        return self.counts.total()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        text, streamed = body["messages"][0]["content"], bool(body.get("stream"))
        if PLAINEST not in text:
            return await talk(request)
        self.counts[streamed] += 1
        if self.counts[streamed] % 2:
            return await talk(request)
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        arguments = json.dumps({name: fields[name] for name in ("message", "tag")})
        function = {"name": "probe_echo", "arguments": arguments}
        return says(
            request, None, tool_calls=[{"id": "c", "type": "function", "function": function}]
        )


def trials_of(attempts: list[Attempt], probe: str) -> list[int]:
    return sorted(attempt.trial for attempt in attempts if attempt.probe == probe)


def spent(attempts: list[Attempt]) -> int:
    return sum(attempt.evidence.requests for attempt in attempts)


def test_a_clear_answer_is_asked_for_once() -> None:
    """If all trials agree, there are no further trials."""
    attempts = run_measurement(talk)

    trials = {(attempt.probe, attempt.trial) for attempt in attempts}
    assert trials == {(trial.probe, trial.trial) for trial in PLAN.trials}
    assert len(attempts) == len(PLAN.trials)
    assert {attempt.outcome for attempt in attempts} <= {Outcome.FAIL, Outcome.PASS}


def test_an_unclear_probe_gets_more_samples_and_the_others_do_not() -> None:
    """Its trials double each round, up to the limit."""
    attempts = run_measurement(Wavering())

    assert trials_of(attempts, "format") == list(range(1, MAX_SAMPLES + 1))
    others = {a.probe for a in attempts} - {"format"}
    assert all(trials_of(attempts, probe) == [1, 2, 3, 4] for probe in others)


@pytest.mark.parametrize("more", [0, 1, 3])
def test_more_samples_stay_within_the_budget(more: int) -> None:
    """Earlier requests count, and no request exceeds the budget."""
    first = spent(run_measurement(talk))

    attempts = run_measurement(Wavering(), replace(PLAN, max_requests=first + more))

    assert len(trials_of(attempts, "format")) == 4 + more
    assert spent(attempts) == first + more


def test_the_room_is_twice_the_first_round_unless_told() -> None:
    """A plan knows its limit before anything is sent."""
    assert MeasurementPlan("full").trials == plan_trials("full")
    assert MeasurementPlan("full").room == 2 * estimate_price(plan_trials("full")).requests
    assert MeasurementPlan("full", max_requests=7).room == 7


def test_the_deadline_ends_a_run_and_what_is_missing_is_void() -> None:
    """Every planned trial is reported, done or not, with the reason."""

    async def slow(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(10)
        return await talk(request)

    late = replace(PLAN, deadline_s=25)
    attempts = run_measurement(slow, late, replace(TARGET, max_concurrency=1))

    done = [attempt for attempt in attempts if attempt.outcome is not Outcome.VOID]
    void = [attempt for attempt in attempts if attempt.outcome is Outcome.VOID]
    assert len(done) == 2
    assert len(attempts) == len(PLAN.trials)
    assert len({(attempt.probe, attempt.trial) for attempt in attempts}) == len(PLAN.trials)
    for attempt in void:
        (finding,) = attempt.findings
        assert finding.kind is FindingKind.OUR_FAULT
        assert finding.message == "The run was not complete within 25 s."
        assert attempt.verdicts == ()
        assert attempt.evidence == Evidence()


def test_the_deadline_holds_for_further_rounds_too() -> None:
    """Attempts of the first round are not reported twice."""
    wavering = Wavering()

    async def later(request: httpx.Request) -> httpx.Response:
        if wavering.count >= 4 and PLAINEST in request.content.decode():
            await asyncio.sleep(500)
        return await wavering(request)

    attempts = run_measurement(
        later, replace(PLAN, deadline_s=100), replace(TARGET, max_concurrency=50)
    )

    assert trials_of(attempts, "format") == [1, 2, 3, 4, 5, 6, 7, 8]
    late = [a.trial for a in attempts if a.probe == "format" and a.outcome is Outcome.VOID]
    assert sorted(late) == [5, 6, 7, 8]


def test_a_slow_down_that_outlasts_the_deadline_is_told() -> None:
    """The reason includes the number of 429 answers."""

    async def busy(request: httpx.Request) -> httpx.Response:
        return answer(429, b"", retry_after="20")

    attempts = run_measurement(busy, replace(PLAN, deadline_s=30))

    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert all("429" in attempt.findings[0].message for attempt in attempts)
