from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
import pytest

from probes.errors import TargetError
from probes.outcomes import Attempt, FindingKind, Metric, Outcome, Verdict
from probes.pacing import MAX_TRIES
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import PROBES, Trial
from probes.target import Limits, Provider, Target
from probes.transport import Transport
from simulators import virtual_time
from tests.probes.httpx_responses import answer, answer_chat

pytestmark = pytest.mark.anyio

TARGET = Target(Provider.OPENAI, "https://e.test/v1", "m", Secret("sim-canary-4711"))
TRIALS = tuple(Trial("format", trial) for trial in range(1, 6))


def mock(handle: Callable[[httpx.Request], httpx.Response]) -> Transport:
    return Transport(inner=httpx.MockTransport(handle))


async def collect(
    transport: Transport, target: Target = TARGET, trials: Sequence[Trial] = TRIALS
) -> list[Attempt]:
    async with transport:
        return [
            attempt async for attempt in run_trials(target, trials, seed="s", transport=transport)
        ]


def first_request(attempt: Attempt) -> dict[str, Any]:
    """The body of the first question of an attempt."""
    exchange: Any = attempt.evidence.exchanges[0]
    body: dict[str, Any] = json.loads(exchange["request"]["body"])
    return body


def obey(request: httpx.Request) -> httpx.Response:
    """Answer with the call that the question asks for."""
    lines = json.loads(request.content)["messages"][0]["content"].splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line)
    arguments = json.dumps({name: fields[name] for name in ("message", "tag")})
    function = {"name": "probe_echo", "arguments": arguments}
    call = {"id": "c", "type": "function", "function": function}
    choice = {"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    body: dict[str, object] = {
        "model": "m-1",
        "system_fingerprint": "fp",
        "choices": [choice],
        "usage": {"prompt_tokens": 5, "completion_tokens": 6},
    }
    return answer_chat(request, body, server="fake/1")


async def test_every_trial_gives_one_attempt() -> None:
    """Each planned trial is returned once, with status, usage, fingerprint and verdicts."""
    attempts = await collect(mock(obey))

    assert sorted(attempt.trial for attempt in attempts) == [1, 2, 3, 4, 5]
    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}
    first = attempts[0]
    assert first.http_status == 200
    assert first.usage.as_json() == {"input_tokens": 5, "output_tokens": 6}
    assert first.fingerprint == {"model": "m-1", "system_fingerprint": "fp", "server": "fake/1"}
    assert Verdict(Metric.AVAILABILITY, good=True) in first.verdicts
    assert first.started_at.tzinfo is not None


async def test_the_same_seed_asks_the_same_questions() -> None:
    """A trial can be repeated alone and sends the same bytes."""
    whole = await collect(mock(obey))
    alone = await collect(mock(obey), trials=TRIALS[2:3])

    third = next(attempt for attempt in whole if attempt.trial == 3)
    assert first_request(alone[0]) == first_request(third)


async def test_options_are_sent_with_the_question() -> None:
    """The operator's options reach the endpoint, and the key does not reach the evidence."""
    target = replace(TARGET, options={"temperature": 0.5})

    attempts = await collect(mock(obey), target, TRIALS[:1])

    assert first_request(attempts[0])["temperature"] == 0.5
    assert "canary" not in json.dumps(attempts[0].as_json())


@pytest.mark.parametrize(
    ("status", "body", "outcome", "kind"),
    [
        (400, {"error": {"message": "m does not support tools"}}, "fail", "no_tools"),
        (400, {"error": {"message": "Invalid schema for function 'f'"}}, "fail", "schema_refused"),
        (400, {"error": {"message": "Unknown parameter: 'tools'"}}, "fail", "param_unknown"),
        (400, {"error": {"message": "Unknown parameter: 'top_k'"}}, "void", "param_unknown"),
        (400, {"error": {"message": "Your account is inactive"}}, "void", "provider_error"),
        (404, {"error": "No endpoints found that support tool use"}, "fail", "no_tools"),
        (404, {"error": "gone"}, "void", "not_found"),
        (400, {"error": {"message": "Model is loading"}}, "void", "overloaded"),
        (200, {"error": {"message": "upstream trouble"}}, "void", "provider_error"),
        (200, {"error": {"message": "x does not support tools"}}, "fail", "no_tools"),
        (200, {"choices": []}, "fail", "wire_error"),
        (529, {"error": {"message": "overloaded_error"}}, "void", "overloaded"),
    ],
)
def test_refusals_fail_or_void_by_what_they_mean(
    status: int, body: object, outcome: str, kind: str
) -> None:
    """A refusal of tools is the endpoint's failure; any other error is no verdict.

    A refusal proves availability: only errors that prevent the question count against it.
    """
    attempts = virtual_time.run(collect(mock(lambda request: answer(status, body))))

    assert {str(attempt.outcome) for attempt in attempts} == {outcome}
    assert {str(attempt.findings[0].kind) for attempt in attempts} == {kind}
    bad_parse = Verdict(Metric.PARSE_SUCCESS, good=False)
    available = Verdict(Metric.AVAILABILITY, good=kind not in ("not_found", "overloaded"))
    tries = MAX_TRIES if status >= 500 else 1
    expected = (bad_parse, available) if outcome == "fail" else (available,) * tries
    assert attempts[0].verdicts == expected


async def test_an_unknown_probe_is_refused_before_anything_is_sent() -> None:
    """A plan with an unknown probe is an error of the caller."""
    with pytest.raises(TargetError, match="no probe 'nope'"):
        await collect(mock(obey), trials=[Trial("nope", 1)])


async def test_a_flood_of_findings_is_bounded() -> None:
    """A reply that calls sixty unknown tools does not fill the database."""
    call = {"function": {"name": "f", "arguments": "{}"}}
    choice = {"message": {"tool_calls": [call] * 60}, "finish_reason": "tool_calls"}

    attempts = await collect(mock(lambda request: answer(200, {"choices": [choice]})))

    assert len(attempts[0].findings) == 50


class Gate:
    """An endpoint that holds every request until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.in_flight = self.most = self.cancelled = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1
        return obey(request)


async def settle() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def test_no_more_requests_than_allowed_are_in_flight() -> None:
    """The limit holds and is fully used."""
    gate = Gate()
    transport = Transport(inner=httpx.MockTransport(gate))
    target = replace(TARGET, max_concurrency=3)

    running = asyncio.create_task(collect(transport, target, TRIALS * 2))
    await settle()
    waiting = gate.in_flight
    gate.open.set()
    attempts = await running

    assert waiting == 3
    assert gate.most == 3
    assert len(attempts) == 10


async def test_closing_early_cancels_what_is_in_flight() -> None:
    """No request continues after the iterator is closed, and no task remains."""
    gate = Gate()
    before = asyncio.all_tasks()

    async with Transport(inner=httpx.MockTransport(gate)) as transport:
        attempts = run_trials(TARGET, TRIALS, seed="s", transport=transport)
        async with aclosing(attempts):
            asking = asyncio.ensure_future(anext(attempts))
            await settle()
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    assert gate.cancelled == TARGET.max_concurrency
    assert gate.in_flight == 0
    assert asyncio.all_tasks() == before


async def test_attempts_come_in_the_order_of_completion() -> None:
    """A slow trial does not delay the others."""
    slow = asyncio.Event()
    count = 0

    async def handle(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        if count == 1:
            await slow.wait()
        return obey(request)

    order: list[int] = []
    async with Transport(inner=httpx.MockTransport(handle)) as transport:
        async for attempt in run_trials(TARGET, TRIALS, seed="s", transport=transport):
            order.append(attempt.trial)
            if len(order) == 4:
                slow.set()

    assert order[-1] == 1
    assert sorted(order) == [1, 2, 3, 4, 5]


def again(request: httpx.Request) -> httpx.Response:
    """One good call and one that no format can carry back, whatever the question."""
    good = {"name": "probe_echo", "arguments": '{"message": "a", "tag": "beta"}'}
    first = {"id": "c1", "type": "function", "function": good}
    broken = {**first, "id": "c2", "function": {**good, "arguments": "{"}}
    message = {"content": None, "tool_calls": [first, broken]}
    return answer(200, {"choices": [{"message": message, "finish_reason": "tool_calls"}]})


async def test_no_probe_trips_over_what_a_model_says() -> None:
    """A model that makes endless wrong calls gets a verdict from every probe."""
    trials = [Trial(name, 1) for name in PROBES]

    attempts = await collect(mock(again), trials=trials)

    assert {attempt.probe for attempt in attempts} == set(PROBES)
    assert Outcome.VOID not in {attempt.outcome for attempt in attempts}


async def test_a_script_of_several_questions_keeps_every_exchange() -> None:
    """Usage is summed; the last status and the first latency and fingerprint count."""

    def handle(request: httpx.Request) -> httpx.Response:
        messages = json.loads(request.content)["messages"]
        if messages[-1]["role"] != "tool":
            return obey(request)
        nonce = json.loads(messages[-1]["content"])["nonce"]
        choice = {"message": {"content": f"It is {nonce}."}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 50, "completion_tokens": 60}
        return answer(200, {"model": "m-2", "choices": [choice], "usage": usage})

    (attempt,) = await collect(mock(handle), trials=[Trial("round_trip", 1)])

    assert attempt.outcome is Outcome.PASS
    assert [label for label, _ in exchanges(attempt)] == ["asked", "with the result"]
    assert attempt.usage.as_json() == {"input_tokens": 55, "output_tokens": 66}
    assert attempt.fingerprint["model"] == "m-1"


@pytest.mark.parametrize(
    ("status", "outcome", "kind"), [(200, "fail", "wire_error"), (503, "void", "overloaded")]
)
def test_trouble_later_in_a_script_owes_nothing(status: int, outcome: str, kind: str) -> None:
    """The first answer was good, so no call is missing; the later error is reported separately."""

    def handle(request: httpx.Request) -> httpx.Response:
        messages = json.loads(request.content)["messages"]
        return obey(request) if messages[-1]["role"] != "tool" else answer(status, {"choices": []})

    (attempt,) = virtual_time.run(collect(mock(handle), trials=[Trial("round_trip", 1)]))

    assert (str(attempt.outcome), str(attempt.findings[0].kind)) == (outcome, kind)
    assert Verdict(Metric.PARSE_SUCCESS, good=False) not in attempt.verdicts
    assert [error for _, error in exchanges(attempt)] == [None, attempt.findings[0].message]


def exchanges(attempt: Attempt) -> list[tuple[object, object]]:
    evidence: Any = attempt.evidence.exchanges
    return [(exchange["label"], exchange["error"]) for exchange in evidence]


def test_an_attempt_that_takes_too_long_is_void_and_says_so() -> None:
    """Each answer is in time, but their sum is not."""
    target = replace(TARGET, limits=Limits(60, 60, 60, 60, attempt_s=100))

    async def handle(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(55)
        return obey(request)

    transport = Transport(target.limits, inner=httpx.MockTransport(handle))
    trials = [Trial("format", 1), Trial("round_trip", 1)]
    attempts = virtual_time.run(collect(transport, target, trials))

    assert [(a.probe, str(a.outcome)) for a in attempts] == [("format", "pass"), LATE]
    (finding,) = attempts[1].findings
    assert finding.kind is FindingKind.TIMED_OUT
    assert finding.message == "The answers of the attempt took longer than 100 s together."
    # Both requests were answered; the sum is a limit of ours.
    assert attempts[1].verdicts == (Verdict(Metric.AVAILABILITY, good=True),) * 2
    assert [label for label, _ in exchanges(attempts[1])] == ["asked", "with the result"]


def test_waiting_for_a_slot_is_no_time_of_the_attempt() -> None:
    """The last of many attempts at a slow endpoint waits long for its slot, and still runs."""
    target = replace(TARGET, max_concurrency=1, limits=Limits(60, 60, 60, 60, attempt_s=100))

    async def handle(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(55)
        return obey(request)

    transport = Transport(target.limits, inner=httpx.MockTransport(handle))
    trials = [Trial("format", number) for number in range(1, 6)]
    attempts = virtual_time.run(collect(transport, target, trials))

    assert {str(attempt.outcome) for attempt in attempts} == {"pass"}


LATE = ("round_trip", "void")


def test_an_endpoint_that_asks_to_slow_down_is_waited_for() -> None:
    """All trials pass in the end, and none was sent during the pause."""
    times: list[float] = []

    def handle(request: httpx.Request) -> httpx.Response:
        times.append(virtual_time.now())
        return answer(429, b"", retry_after="10") if len(times) == 1 else obey(request)

    target = replace(TARGET, max_concurrency=1)
    attempts = virtual_time.run(collect(mock(handle), target))

    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}
    assert times[0] == 0
    assert min(times[1:]) >= 10


def test_a_storm_of_slow_down_is_void_with_the_reason() -> None:
    """Only 429 answers give no verdict, with the reason."""
    attempts = virtual_time.run(collect(mock(lambda request: answer(429, b"", retry_after="1"))))

    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert {attempt.findings[0].kind for attempt in attempts} == {FindingKind.RATE_LIMITED}
    # The endpoint is given up before the last attempt is sent.
    assert {attempt.http_status for attempt in attempts} == {429, None}


async def test_attempts_do_not_pile_up_before_a_slow_reader() -> None:
    """Evidence waits in the endpoint, not in memory: a place is free when its attempt is taken."""
    asked = 0

    def count(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        return obey(request)

    target = replace(TARGET, max_concurrency=2)
    async with mock(count) as transport:
        attempts = run_trials(target, TRIALS, seed="s", transport=transport)
        await anext(attempts)
        for _ in range(200):
            await asyncio.sleep(0)
        assert asked == 2
        assert len([attempt async for attempt in attempts]) == 4
