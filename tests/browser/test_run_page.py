from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Page, expect

from dashboard.models import Run
from dashboard.models.run import State
from tests.browser.watch import Watch
from tests.dashboard.runs.exchange.builders import build_evidence, build_exchange
from tests.factories import make_attempt, make_endpoint, make_run

FINDING = {"kind": "no_call", "message": "The model did not call the tool.", "path": ""}


@pytest.fixture
def run(transactional_db: None) -> Run:
    """A run under way, with its first attempt stored."""
    started_at = timezone.now() - timedelta(seconds=20)
    lease = {
        "lease_expires_at": timezone.now() + timedelta(hours=1),
        "slot": 1,
        "started_at": started_at,
    }
    run = make_run(make_endpoint(enabled=False), state=State.RUNNING, planned=12, **lease)
    make_attempt(run, evidence=build_evidence(build_exchange()))
    return run


def test_a_run_is_watched_to_its_end(
    run: Run, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Steps, figures and results update in place, open parts stay open, and so does the end."""
    page, watch = open_page(width=390)
    page.goto(f"/runs/{run.pk}/")
    steps = page.locator("#run-part .steps")
    expect(steps.locator(".now").first).to_contain_text("1/3")
    page.locator("#attempt-format-1 > summary").click()
    expect(page.locator("#attempt-format-1 .call")).to_be_visible()
    page.evaluate("() => { window.same = true }")

    _change_rows(lambda: _store_attempts(run))

    expect(page.locator("#run-part")).to_contain_text("3 of 12 attempts")
    expect(page.locator("#run-part")).to_contain_text("left")
    expect(steps.locator(".has-failed")).to_contain_text("3/3")
    expect(page.locator("#attempts")).to_contain_text("The model did not call the tool.")
    expect(page.locator("#attempt-format-1 .call")).to_be_visible()

    _change_rows(lambda: _finish(run))

    expect(page.locator("#run-part .run-ended")).to_contain_text("2 passed, 1 failed")
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"Run {run.pk}: 1 of 3 attempts failed"
    )
    expect(page.get_by_role("link", name="Download evidence")).to_be_visible()
    assert page.evaluate("() => window.same")
    assert watch.problems == []


def _change_rows(change: Callable[[], None]) -> None:
    """Change rows in a thread: the browser's event loop blocks database access here."""

    def work() -> None:
        change()
        connection.close()

    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(work).result()


def _store_attempts(run: Run) -> None:
    make_attempt(run, trial=2, input_tokens=100, output_tokens=20)
    make_attempt(run, trial=3, outcome="fail", findings=[FINDING])


def _finish(run: Run) -> None:
    figures = {"passed": 2, "failed": 1, "finished_at": timezone.now()}
    free = {"lease_expires_at": None, "slot": None}
    Run.objects.filter(pk=run.pk).update(state=State.FINISHED, **figures, **free)
