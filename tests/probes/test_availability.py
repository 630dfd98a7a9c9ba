"""Availability counts requests: what the endpoint did with each, and nothing that is our own."""

from __future__ import annotations

from typing import Any

import pytest
from typing_extensions import override

from health.run_report import compute_rates, usage_json
from probes.http_messages import WireRequest, WireResponse
from probes.measurement import MeasurementPlan, measure_endpoint
from probes.outcomes import Attempt, Metric, Outcome
from probes.secret import Secret
from probes.target import Provider, Target
from simulators import virtual_time
from simulators.in_process import InProcessTransport
from simulators.server import build_app

LATENCY_S = 0.5
# The beginning of every PNG in base64.
PNG = b"iVBORw0KGgo"


class CountingTransport(InProcessTransport):
    """Counts the answers of chat requests by status."""

    def __init__(self) -> None:
        super().__init__(build_app(latency=(LATENCY_S, LATENCY_S)))
        self.answers: list[int] = []

    @override
    async def send(self, outgoing: WireRequest) -> WireResponse:
        incoming = await super().send(outgoing)
        self.answers.append(incoming.status)
        return incoming


class OnceFailingTransport(CountingTransport):
    """Fails for the first request that has an image."""

    @override
    async def send(self, outgoing: WireRequest) -> WireResponse:
        if PNG in outgoing.body and 503 not in self.answers:
            self.answers.append(503)
            return WireResponse(503, {}, (), http_version="HTTP/1.1")
        return await super().send(outgoing)


def measure(
    switches: str,
    vendor: str = "openai/v1",
    provider: Provider = Provider.OPENAI,
    *,
    suite: str = "light",
    transport: CountingTransport | None = None,
    **plan: float,
) -> tuple[list[Attempt], list[int]]:
    """The attempts of a suite against a vendor with faults, and the status of each answer."""
    url = f"http://vendors.test/with/{switches}/{vendor}"
    target = Target(provider, url, "sim-steady", Secret("sim-key"), max_concurrency=4)
    transport = transport or CountingTransport()

    async def collect() -> list[Attempt]:
        measured = measure_endpoint(
            target,
            MeasurementPlan(suite, **plan),  # type: ignore[arg-type]
            seed=1,
            transport=transport,
        )
        return [attempt async for attempt in measured]

    return virtual_time.run(collect()), transport.answers


def rates(attempts: list[Attempt]) -> tuple[int, int]:
    """Trials and failures of availability."""
    rate = compute_rates(v for attempt in attempts for v in attempt.verdicts)[Metric.AVAILABILITY]
    return rate.trials, rate.failures


def exchanges(attempt: Attempt) -> list[dict[str, Any]]:
    stored: Any = attempt.evidence.exchanges
    return list(stored)


def test_a_fifth_of_the_requests_failing_is_four_fifths_available() -> None:
    """Every request on the wire is one trial, and a passing 503 costs no attempt its verdict."""
    attempts, answers = measure("server-error,value=503,p=0.2,seed=7")

    assert rates(attempts) == (len(answers), answers.count(503))
    assert 0.1 < answers.count(503) / len(answers) < 0.3
    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}


@pytest.mark.parametrize(
    ("switches", "status"),
    [("rate-limit,value=1,p=0.3,seed=5", 429), ("server-error,value=502,p=0.3,seed=5", 502)],
)
def test_retried_answers_leave_a_trace(switches: str, status: int) -> None:
    """Each retry is in the evidence of its exchange, and the report has their number."""
    attempts, answers = measure(switches)

    in_evidence = [
        retry["status"]
        for attempt in attempts
        for exchange in exchanges(attempt)
        for retry in exchange.get("retried", [])
    ]
    assert in_evidence == [status] * answers.count(status)
    assert usage_json(attempts)["retried"] == {str(status): answers.count(status)}


def test_an_endpoint_that_is_down_is_not_asked_a_whole_suite() -> None:
    """Retries do not multiply the requests to an endpoint that never answers."""
    attempts, answers = measure("down")

    assert {attempt.outcome for attempt in attempts} == {Outcome.VOID}
    assert len(answers) <= (3 + 4) * 4
    assert rates(attempts) == (len(answers), len(answers))


def test_a_model_that_the_server_cannot_read_is_not_asked_twice() -> None:
    """Ollama reports an unreadable call with a 500: a fault of the model, not of the server."""
    attempts, answers = measure("server-parse,p=0.5,seed=2", "ollama", Provider.OLLAMA)

    assert 500 in answers
    assert not any("retried" in exchange for a in attempts for exchange in exchanges(a))
    assert rates(attempts) == (len(answers), 0)


def test_our_deadline_counts_in_nothing() -> None:
    """What we did not wait for says nothing about the endpoint."""
    attempts, _ = measure("crlf-keepalive", deadline_s=1.2)

    late = [attempt for attempt in attempts if attempt.outcome is Outcome.VOID]
    assert late
    assert {str(finding.kind) for attempt in late for finding in attempt.findings} == {"our_fault"}
    assert not any(attempt.verdicts for attempt in late)
    assert rates(attempts)[1] == 0


@pytest.mark.parametrize(
    ("switches", "vendor", "images"),
    [
        ("images-fail", "vllm/v1", 2),
        ("result-images-fail", "vllm/v1", 1),
        ("one-call,p=0", "llamacpp/v1", 2),
    ],
)
def test_a_server_error_for_an_image_is_a_refusal_and_no_outage(
    switches: str, vendor: str, images: int
) -> None:
    """Each image is sent twice at most, and none of it counts against the endpoint."""
    attempts, answers = measure(switches, vendor, suite="full")

    asked = [attempt for attempt in attempts if attempt.probe == "image_result"]
    assert answers.count(500) == 2 * images * len(asked)
    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}
    assert rates(attempts) == (len(answers) - answers.count(500), 0)
    use = "refused" if images == 2 else "used_in_user_turn"
    assert [attempt.facts["image_result"] for attempt in asked] == [use] * len(asked)
    retried = [r["status"] for a in asked for e in exchanges(a) for r in e.get("retried", [])]
    assert retried == [500] * images * len(asked)


def test_a_server_error_that_passes_is_no_refusal_of_an_image() -> None:
    """The retry is answered, so the first error counts against the endpoint as any other."""
    transport = OnceFailingTransport()
    attempts, answers = measure("one-call,p=0", "vllm/v1", suite="full", transport=transport)

    (use,) = {a.facts["image_result"] for a in attempts if a.probe == "image_result"}
    assert use == "used"
    assert answers.count(503) == 1
    assert rates(attempts) == (len(answers), 1)
