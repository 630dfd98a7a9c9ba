"""First contact with an endpoint that refuses the limit of output tokens: learnt once, kept."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from health.capabilities import derive_capabilities
from probes.outcomes import Attempt, Outcome
from probes.output_limit import OutputLimit, learn_limit
from probes.runner import run_trials
from probes.suite import Trial
from probes.target import Provider, Target
from probes.transport import Transport
from simulators import virtual_time
from tests.probes.httpx_responses import answer
from tests.probes.test_runner import obey

USE_NEWER = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
TRIALS = [Trial("format", number) for number in range(1, 7)]


class Vendor:
    """Takes one name of the limit, up to a maximum."""

    def __init__(self, name: str, most: int = 10_000) -> None:
        self.name, self.most = name, most
        self.limits: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        sent = {name: value for name, value in body.items() if name.startswith("max_")}
        self.limits.append(sent)
        for name, value in sent.items():
            if name != self.name:
                text = (
                    f"Unsupported parameter: '{name}' is not supported. Use '{self.name}' instead."
                )
                return answer(400, {"error": {"message": text}})
            if value > self.most:
                text = f"{name} is too large: {value}. This model supports at most {self.most}."
                return answer(400, {"error": {"message": text}})
        return obey(request)


def probe(
    vendor: Vendor, provider: Provider, known: OutputLimit | None = None
) -> tuple[list[Attempt], dict[str, Any]]:
    target = Target(provider, "https://e.test/v1", "m", max_concurrency=1)

    async def collect() -> list[Attempt]:
        async with Transport(inner=httpx.MockTransport(vendor)) as transport:
            stream = run_trials(target, TRIALS, seed=1, transport=transport, output_limit=known)
            return [attempt async for attempt in stream]

    attempts = virtual_time.run(collect())
    capabilities = derive_capabilities(attempts, "openai")
    return attempts, {name: capability.value for name, capability in capabilities.items()}


@pytest.mark.parametrize(
    ("known", "name"), [("", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")]
)
def test_the_other_name_is_learnt_from_the_refusal(known: str, name: str) -> None:
    """One refused request, in either direction; then every question is asked."""
    vendor = Vendor(name)

    attempts, capabilities = probe(vendor, Provider.OPENAI, OutputLimit(known))

    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}
    assert len(vendor.limits) == len(TRIALS) + 1
    assert capabilities["output_limit_parameter"] == name
    assert capabilities["output_limit_cap"] is None
    assert attempts[0].retried == {"400": 1}
    assert all(verdict.good for attempt in attempts for verdict in attempt.verdicts)


def test_name_and_maximum_are_learnt_one_after_the_other() -> None:
    """Two refusals, and the maximum is used from then on."""
    vendor = Vendor("max_completion_tokens", most=2048)

    attempts, capabilities = probe(vendor, Provider.GLM)

    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}
    assert vendor.limits[2:] == [{"max_completion_tokens": 2048}] * len(TRIALS)
    assert capabilities["output_limit_parameter"] == "max_completion_tokens"
    assert capabilities["output_limit_cap"] == 2048


def test_what_an_earlier_run_learnt_is_not_learnt_again() -> None:
    """No request is refused."""
    vendor = Vendor("max_completion_tokens", most=2048)

    probe(vendor, Provider.GLM, OutputLimit("max_completion_tokens", 2048))

    assert vendor.limits == [{"max_completion_tokens": 2048}] * len(TRIALS)


@pytest.mark.parametrize(
    ("sent", "refusal", "learnt"),
    [
        ({"max_tokens": 4096}, USE_NEWER, OutputLimit("max_completion_tokens")),
        (
            {"max_completion_tokens": 4096},
            "Unrecognized request argument supplied: max_completion_tokens",
            OutputLimit("max_tokens"),
        ),
        (
            {"max_tokens": 4096},
            "max_tokens: 4096 > 2048, which is the maximum allowed number of output tokens for m-3",
            OutputLimit("", 2048),
        ),
        (
            {"max_tokens": 4096},
            "Invalid max_tokens value, the valid range of max_tokens is [1, 2,048]",
            OutputLimit("", 2048),
        ),
        (
            {"max_tokens": 4096},
            "`max_tokens` must be less than or equal to `1024`, the maximum for sim-4-1106-preview",
            OutputLimit("", 1024),
        ),
        ({"max_output_tokens": 4096}, "max_output_tokens must be <= 512", OutputLimit("", 512)),
        ({"max_tokens": 4096}, "max_tokens must be less than 513.", OutputLimit("", 512)),
        (
            {"max_tokens": 4096},
            "This model's context length is 8192 tokens. However, you requested 9000 tokens",
            OutputLimit(),
        ),
        ({"max_tokens": 4096}, "Unknown parameter: 'top_k'", OutputLimit()),
        ({}, USE_NEWER, OutputLimit()),
    ],
)
def test_only_what_a_refusal_says_is_learnt(
    sent: dict[str, Any], refusal: str, learnt: OutputLimit
) -> None:
    """The name, or the maximum; a refusal about something else teaches nothing."""
    assert learn_limit(OutputLimit(), sent, refusal) == learnt


def test_a_void_attempt_claims_nothing() -> None:
    """`parallel_switch: refused` needs a refusal of the switch, not of everything."""
    target = Target(Provider.OPENAI, "https://e.test/v1", "m")
    refuse = {"error": {"message": "Your account is inactive"}}

    async def collect() -> list[Attempt]:
        inner = httpx.MockTransport(lambda request: answer(400, refuse))
        async with Transport(inner=inner) as transport:
            trials = [Trial("parallel_off", 1)]
            return [a async for a in run_trials(target, trials, seed=1, transport=transport)]

    capabilities = derive_capabilities(virtual_time.run(collect()), "openai")

    assert capabilities["parallel_switch"].value == "unknown"
