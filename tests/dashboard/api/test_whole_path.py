"""The whole path by the API alone: register, probe, follow, and read the results."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard.models.people import Scope
from dashboard.people.services import tokens
from tests.dashboard.api.event_stream import Stream
from tests.dashboard.api.web_process import Site
from tests.live import broker, celery_worker

SIMULATED = {"slug": "simulated", "provider": "openai", "model": "sim-steady", "enabled": False}


@pytest.fixture
def text(transactional_db: None) -> str:
    broker().flushdb()
    root = User.objects.create_superuser("root")
    return tokens.issue_token(name="a script", scopes=Scope.values, by=root).text


def test_a_program_needs_nothing_but_the_api(
    site: Site, text: str, vendor_url: str, tmp_path: Path
) -> None:
    """From a base URL to figures and their evidence, with a real worker and vendor."""
    site.request(text, "POST", "/endpoints", {**SIMULATED, "base_url": f"{vendor_url}/open/v1"})
    run = site.request(text, "POST", "/endpoints/simulated/runs", {"suite": "light"})
    planned = run["progress"]["planned"]

    with Stream(site, run["id"], text) as stream, celery_worker(tmp_path / "worker.log"):
        events = list(iter(stream.event, None))

    progress = [event["done"] for event in events if event]
    assert progress == sorted(progress)
    last = events[-1]
    assert last is not None
    assert (last["state"], last["done"], last["passed"]) == ("finished", planned, planned)
    _check_results(site, text, run["id"], planned)


def _check_results(site: Site, text: str, run_id: int, planned: int) -> None:
    metrics = site.request(text, "GET", f"/runs/{run_id}/metrics")["metrics"]
    attempts = site.request(text, "GET", f"/runs/{run_id}/attempts")["attempts"]
    first = attempts[0]
    path = f"/runs/{run_id}/attempts/{first['probe']}/{first['trial']}/evidence"
    evidence = site.request(text, "GET", path)

    assert metrics["parse_success"]["rate"] == 1
    assert len(attempts) == planned
    assert evidence["exchanges"][0]["request"]["method"] == "POST"
