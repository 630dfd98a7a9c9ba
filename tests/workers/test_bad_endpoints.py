"""With any misbehaviour of an endpoint, its run ends in time with a clear reason."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dashboard.endpoints.services import endpoints
from dashboard.models import Attempt, Endpoint, Run, RunMetric
from dashboard.runs import services as runs
from workers.probing import execute_run

pytestmark = pytest.mark.django_db(transaction=True)

# The path at the simulated vendors, or a URL, with part of the expected reason.
VOID = {
    "http://127.0.0.1:1/v1": "was refused",
    "http://no-such-host.invalid/v1": "does not resolve",
    "hostile/hang": "No first byte within",
    "hostile/drip": "not complete within",
    "hostile/endless": "exceeds the limit",
    "hostile/huge": "exceeds the limit",
    "hostile/html": "web page (HTML)",
    "hostile/unauthorized": "rejected the API key (401)",
    "hostile/forbidden": "forbids access (403)",
    "hostile/not-found": "no such path or model (404)",
    "hostile/rate-limited": "asks us to slow down (429)",
    "hostile/server-error": "failed on its own side (500)",
    "hostile/redirect": "redirects us",
    "hostile/gzip-bomb": "compressed",
    "hostile/garbage": "did not answer in JSON",
    "hostile/empty": "empty body",
    "hostile/deep": "exceeds the limit",
    "hostile/cut": "closed before the answer was complete",
}


@pytest.fixture(autouse=True)
def short_timeouts(settings: Any) -> None:
    settings.PROBE_TIMEOUT = timedelta(seconds=2)
    settings.PROBE_IDLE_TIMEOUT = timedelta(seconds=1.5)
    settings.PROBE_MAX_BYTES = 256 * 1024


def run_probe(address: str, vendor_url: str) -> Run:
    endpoint = endpoints.create(
        slug="bad",
        provider="openai",
        base_url=address if "://" in address else f"{vendor_url}/{address}/v1",
        model="sim-steady",
        options={},
        ttl=timedelta(hours=6),
        max_concurrency=16,
        enabled=True,
        key=None,
    )
    run = runs.request_run(endpoint, by=None)
    lease = runs.claim_run(owner="test")
    assert lease
    execute_run(lease)
    run.refresh_from_db()
    return run


@pytest.mark.parametrize(("address", "sentence"), VOID.items(), ids=list(VOID))
def test_a_transport_fault_is_void_with_a_reason(
    address: str, sentence: str, vendor_url: str
) -> None:
    """A transport fault gives no verdict, one readable reason, and lowers only availability."""
    run = run_probe(address, vendor_url)

    assert (run.state, run.void) == ("failed", run.planned)
    assert sentence in run.reason
    assert {row.metric for row in RunMetric.objects.all()} == {"availability"}
    assert Endpoint.objects.get().next_due_at > Endpoint.objects.get().created_at


def test_json_of_the_wrong_shape_is_a_failure(vendor_url: str) -> None:
    """A 200 response that violates its own format counts as a failure."""
    run = run_probe("hostile/wrong-type", vendor_url)

    assert (run.state, run.failed) == ("finished", run.planned)
    assert Attempt.objects.first().findings[0]["kind"] == "wire_error"  # type: ignore[union-attr]


def test_hostile_markup_is_stored_and_judged(vendor_url: str) -> None:
    """Scripts, control characters, NUL and lone surrogates break no attempt.

    Every probe that expects certain values fails.
    """
    run = run_probe("hostile/hostile-markup", vendor_url)

    assert (run.state, run.void) == ("finished", 0)
    assert Attempt.objects.count() == run.planned
    judged = Attempt.objects.filter(probe__in=["format", "hostile_text", "round_trip"])
    assert set(judged.values_list("outcome", flat=True)) == {"fail"}
