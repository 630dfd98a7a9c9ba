from __future__ import annotations

import json

import httpx
import pytest

from probes.outcomes import Attempt, FindingKind, Metric, Outcome
from probes.runner import run_trials
from probes.secret import Secret
from probes.suite import Trial, plan_trials
from probes.target import Limits, Provider, Target
from probes.transport import Transport
from simulators import hostile_sizes
from simulators.hostile_vendors import ANSWERS

CANARY = 'sim-canary/4711+zebra"q'
# Short, but long enough that a busy machine answers an honest request in time.
SMALL = {"max_bytes": 256 * 1024, "max_stream_bytes": 256 * 1024}
LIMITS = Limits(connect_s=5, first_byte_s=5, idle_s=5, total_s=5, **SMALL)
SHORT = Limits(connect_s=0.5, first_byte_s=0.5, idle_s=0.5, total_s=0.8, **SMALL)
TRIALS = (Trial("format", 1), Trial("format", 2))
pytestmark = pytest.mark.usefixtures("short_rests")

EXPECTED = {
    "html": ("void", "not_json", "web page (HTML)"),
    "unauthorized": ("void", "auth_rejected", "rejected the API key (401)"),
    "forbidden": ("void", "auth_rejected", "forbids access (403)"),
    "not-found": ("void", "not_found", "no such path or model (404)"),
    "rate-limited": ("void", "rate_limited", "slow down (429)"),
    "server-error": ("void", "overloaded", "failed on its own side (500)"),
    "overloaded": ("void", "overloaded", "failed on its own side (503)"),
    "no-tools": ("fail", "no_tools", "does not support tools"),
    "hang": ("void", "timed_out", "No first byte within 0.5 s"),
    "drip": ("void", "timed_out", "within 0."),
    "endless": ("void", "too_large", "exceeds the limit of 262144 bytes"),
    "huge": ("void", "too_large", "exceeds the limit of 262144 bytes"),
    "deep": ("void", "too_large", "exceeds the limit of 262144 bytes"),
    "nested": ("void", "not_json", "nested deeper than 64 levels"),
    "redirect": ("void", "redirected", "not followed, to /hostile/landing"),
    "gzip-bomb": ("void", "provider_error", "compressed"),
    "garbage": ("void", "not_json", "not UTF-8"),
    "wrong-type": ("fail", "wire_error", "no list"),
    "empty": ("void", "not_json", "empty body"),
    "cut": ("void", "broken_off", "closed before the answer was complete"),
    "echo-auth": ("fail", "no_call", "prose"),
    "echo-refused": ("fail", "param_unknown", "[redacted]"),
    "echo-redirect": ("void", "redirected", "[redacted]"),
    "echo-call": ("fail", "schema_mismatch", "[redacted]"),
    "hostile-markup": ("fail", "wrong_value", "<script>"),
    "many-calls": ("fail", "wire_error", "The answer has more"),
    "text-calls": ("fail", "leaked_call", "leaked into the text"),
    "many-values": ("void", "too_large", "more than 50000 JSON values"),
    "long-text": ("fail", "no_call", "prose"),
    "long-arguments": ("fail", "schema_mismatch", "tag"),
    "many-events": ("void", "too_large", "more than"),
    "small-reads": ("fail", "no_call", "prose"),
    "large-error": ("void", "overloaded", "failed on its own side (500)"),
    "many-headers": ("fail", "no_call", "prose"),
}


def limits_for(name: str) -> Limits:
    """Answers that are as large as a probe reads them need the limits that a probe has."""
    if name in hostile_sizes.ANSWERS:
        return Limits()
    return SHORT if name in ("hang", "drip") else LIMITS


async def probe(url: str, limits: Limits = LIMITS) -> list[Attempt]:
    target = Target(Provider.OPENAI, url, "m", Secret(CANARY), limits=limits)
    return [attempt async for attempt in run_trials(target, TRIALS, seed="s")]


@pytest.mark.anyio
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_hostile_endpoint_gets_the_expected_finding(vendor_url: str, name: str) -> None:
    """Each trial ends within its limits and reports the problem, and the next one runs."""
    limits = limits_for(name)
    outcome, kind, sentence = EXPECTED[name]

    attempts = await probe(f"{vendor_url}/hostile/{name}/v1", limits)

    assert len(attempts) == 2
    for attempt in attempts:
        assert str(attempt.outcome) == outcome
        # These endpoints answer whole, also where a stream is asked for.
        found = next(f for f in attempt.findings if f.kind is not FindingKind.NOT_STREAMED)
        assert str(found.kind) == kind
        assert sentence in found.message


@pytest.mark.anyio
@pytest.mark.parametrize("name", ANSWERS)
async def test_no_trace_of_the_key_leaves_the_runner(vendor_url: str, name: str) -> None:
    """An attempt never contains the key, whatever encoding an endpoint echoes it in."""
    limits = limits_for(name)

    attempts = await probe(f"{vendor_url}/hostile/{name}/v1", limits)

    for attempt in attempts:
        stored = json.dumps(attempt.as_json()) + repr(attempt)
        assert "canary" not in stored
        # The middle of the key in base64, at each of the three possible offsets.
        for piece in ("Y2FuYXJ5", "NhbmFyeS", "jYW5hcn"):
            assert piece not in stored


@pytest.mark.anyio
async def test_stored_hostile_markup_is_safe(vendor_url: str) -> None:
    """Stored text has no NUL and no lone surrogate, so that any database accepts it."""
    attempts = await probe(f"{vendor_url}/hostile/hostile-markup/v1")

    stored = json.dumps(attempts[0].as_json(), ensure_ascii=False)
    stored.encode("utf-8")
    assert "\\u0000" not in stored.replace("\\\\u0000", "")
    assert attempts[0].fingerprint["model"].startswith("<script>")


@pytest.mark.anyio
async def test_a_redirect_is_never_followed(vendor_url: str) -> None:
    """A redirect is not followed, because it would receive our key."""
    await probe(f"{vendor_url}/hostile/redirect/v1")
    await probe(f"{vendor_url}/hostile/echo-redirect/v1")

    async with httpx.AsyncClient(trust_env=False) as client:
        visits = await client.get(f"{vendor_url}/hostile/landing/calls")

    assert visits.json() == {"calls": 0}


@pytest.mark.anyio
async def test_a_healthy_endpoint_passes_after_hostile_ones(vendor_url: str) -> None:
    """A healthy endpoint passes after hostile ones."""
    async with Transport(SHORT) as transport:
        for name in ("cut", "endless", "hang", "gzip-bomb", "garbage"):
            bad = Target(Provider.OPENAI, f"{vendor_url}/hostile/{name}/v1", "m")
            [attempt async for attempt in run_trials(bad, TRIALS, seed="s", transport=transport)]
    good = Target(Provider.OPENAI, f"{vendor_url}/openai/v1", "sim-steady", Secret("sim-x"))
    attempts = [attempt async for attempt in run_trials(good, plan_trials("light"), seed="s")]

    assert {attempt.outcome for attempt in attempts} == {Outcome.PASS}


@pytest.mark.anyio
async def test_a_leaking_model_is_caught_over_real_http(vendor_url: str) -> None:
    """Vendor, transport, adapter and judge together distinguish a leak from a pass."""
    url = f"{vendor_url}/with/leak-hermes,p=0.25/open/v1"
    target = Target(Provider.OPENAI, url, "sim-steady", max_concurrency=20)
    trials = [Trial("format", trial) for trial in range(60)]

    attempts = [attempt async for attempt in run_trials(target, trials, seed="s")]

    leaked = [a for a in attempts if any(f.kind == "leaked_call" for f in a.findings)]
    assert 0 < len(leaked) < 60
    for attempt in attempts:
        parsed = {v.metric: v.good for v in attempt.verdicts}[Metric.PARSE_SUCCESS]
        assert parsed == (attempt not in leaked) == (attempt.outcome is Outcome.PASS)


def test_every_hostile_answer_has_an_expected_result() -> None:
    """Every hostile vendor has an expected result."""
    assert set(EXPECTED) == set(ANSWERS)
