"""Through real Celery and Postgres: no endpoint that agents cannot use may be promoted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stories.story_runner import StoryEndpoint, StoryRunner, start_stories

pytestmark = pytest.mark.timeout(900)

CHAT, ANTHROPIC = ("openai", "/open/v1"), ("anthropic", "/anthropic")
CLIENT, RESULTS, VALUES = "ordinary_client", "rate.result_use", "rate.value_fidelity"
# Per fault, its vendor and the condition that it must miss.
FAULTS: list[tuple[str, tuple[str, str], str]] = [
    # Streams that agents cannot use.
    ("stream-leak", CHAT, CLIENT),
    ("stream-prose", CHAT, CLIENT),
    ("not-streamed", CHAT, CLIENT),
    ("stream-cut", CHAT, CLIENT),
    ("stream-leak", ANTHROPIC, CLIENT),
    ("stream-prose", ANTHROPIC, CLIENT),
    ("not-streamed", ANTHROPIC, CLIENT),
    ("stream-cut", ANTHROPIC, CLIENT),
    ("reordered-calls", CHAT, CLIENT),
    # Deviations that ordinary clients do not survive.
    ("index-zero", CHAT, CLIENT),
    ("no-index", CHAT, CLIENT),
    ("index-drift", CHAT, CLIENT),
    ("object-arguments", CHAT, CLIENT),
    ("stop-with-calls", CHAT, CLIENT),
    ("no-finish", CHAT, CLIENT),
    ("no-stop-reason", ANTHROPIC, CLIENT),
    ("string-input", ANTHROPIC, CLIENT),
    ("no-ids", CHAT, CLIENT),
    ("same-id", CHAT, CLIENT),
    ("same-id", ANTHROPIC, CLIENT),
    # Results that are ignored, and values that are damaged.
    ("ignores-results", CHAT, RESULTS),
    ("ignores-results", ANTHROPIC, RESULTS),
    ("collapsed-space", CHAT, VALUES),
    ("escaped-html", ANTHROPIC, VALUES),
]
HEALTHY = [CHAT, ANTHROPIC]
# Time for one full run and about nine light ones.
UNTIL_DAY = 0.045


def slug_of(fault: str, vendor: tuple[str, str]) -> str:
    return f"{fault}-{vendor[0]}"


def story_endpoint(fault: str, vendor: tuple[str, str]) -> StoryEndpoint:
    provider, path = vendor
    prefix = f"/with/{fault}" if fault != "healthy" else ""
    slug = slug_of(fault, vendor)
    return StoryEndpoint(slug, provider, prefix + path, "sim-steady", 6, UNTIL_DAY)


ENDPOINTS = [
    *(story_endpoint("healthy", vendor) for vendor in HEALTHY),
    *(story_endpoint(fault, vendor) for fault, vendor, _ in FAULTS),
]


@pytest.fixture(scope="module")
def runner(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StoryRunner]:
    with start_stories(ENDPOINTS, tmp_path_factory.mktemp("promotion")) as runner:
        runner.run_stories()
        yield runner


@pytest.fixture(scope="module")
def gates(runner: StoryRunner) -> Any:
    return json.loads(runner.python(_GATES))


@pytest.mark.parametrize("vendor", HEALTHY, ids=lambda vendor: vendor[0])
def test_a_healthy_endpoint_meets_the_criteria_of_read_only(
    vendor: tuple[str, str], gates: Any
) -> None:
    """Within its first ten runs, so the criteria stop nobody who should pass."""
    result = gates[slug_of("healthy", vendor)]

    assert 2 <= result["runs"] <= 12
    assert result["missing"] == []
    assert (result["next"], result["is_met"]) == ("read_only", True)


@pytest.mark.parametrize(
    ("fault", "vendor", "condition"),
    FAULTS,
    ids=[slug_of(fault, vendor) for fault, vendor, _ in FAULTS],
)
def test_an_endpoint_that_agents_cannot_use_is_not_promoted(
    fault: str, vendor: tuple[str, str], condition: str, gates: Any
) -> None:
    """Although its runs are as many: the condition of its fault is not met."""
    result = gates[slug_of(fault, vendor)]

    assert result["runs"] >= 2
    assert (result["next"], result["is_met"]) == ("read_only", False)
    assert dict(result["missing"])[condition] == "not_met"


_GATES = """
import json
from dashboard.models import Endpoint
from dashboard.trust.decision_evidence import read_gate_result
found = {}
for endpoint in Endpoint.objects.all():
    result = read_gate_result(endpoint.profile)
    runs = next(c.figure for c in result.conditions if c.key == "runs")
    missing = [(c.key, c.state.value) for c in result.missing]
    found[endpoint.slug] = {
        "next": result.next, "is_met": result.is_met, "runs": runs, "missing": missing,
    }
print(json.dumps(found))
"""
