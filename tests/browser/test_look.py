from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dashboard.models import Run
from tests.browser.watch import Watch
from tests.factories import make_attempt, make_endpoint, make_finished_run

HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>\u202e" + "W" * 400
EXCHANGE = {
    "label": HOSTILE,
    "request": {"method": "POST", "url": "http://127.0.0.1:9/v1", "body": "{}"},
    "reply": {"status": 200, "headers": {}, "chunks": [{"ms": 1, "text": HOSTILE}], "bytes": 9},
    "calls": [{"id": "1", "name": HOSTILE}],
    "error": HOSTILE,
}
EVIDENCE = {"exchanges": [EXCHANGE, EXCHANGE], "findings": []}


@pytest.fixture
def run(transactional_db: None) -> Run:
    """A fleet with long names, profile changes, void runs and hostile texts."""
    endpoint = make_endpoint(slug="x" * 60, model="M" * 200)
    for hours in range(12, 1, -1):
        at = timezone.now() - timedelta(hours=hours)
        make_finished_run(endpoint, passed=hours % 5, failed=1, at=at)
    make_finished_run(make_endpoint(slug="void"), passed=0, void=5, reason=HOSTILE)
    last = make_finished_run(endpoint, passed=0, failed=1)
    finding = {"kind": "wrong_value", "message": HOSTILE, "path": ""}
    make_attempt(last, outcome="fail", findings=[finding], evidence=EVIDENCE)
    return last


def test_no_page_is_wider_than_a_phone(
    run: Run, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """At 390 pixels nothing overflows, no hostile text runs, and no page logs a problem."""
    slug = "x" * 60
    paths = ["/", f"/endpoints/{slug}/?range=all", f"/endpoints/{slug}/edit/", "/endpoints/void/"]
    paths += [f"/endpoints/{slug}/remove/", "/endpoints/new/", f"/runs/{run.pk}/"]
    page, watch = open_page(width=390, scheme="dark")

    for path in paths:
        page.goto(path, wait_until="networkidle")
        for summary in page.locator(".attempt > summary").all():
            summary.click()
            expect(page.locator(".evidence .bytes[open] .raw").first).to_be_visible()
        assert _overflow(page) <= 0, path

    assert watch.problems == []


def test_a_chosen_theme_stays_and_recolours_the_chart(
    run: Run, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """The chosen theme survives a reload, and the chart uses its colours."""
    page, watch = open_page(scheme="light")
    page.goto(f"/endpoints/{'x' * 60}/?range=all")
    line = page.locator(".scatterlayer .js-line").last
    before = line.evaluate("node => node.style.stroke")

    page.get_by_role("button", name="Account").click()
    page.get_by_role("button", name="Dark").click()
    page.reload()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Account").click()
    dark = page.get_by_role("button", name="Dark")
    expect(dark).to_have_attribute("aria-pressed", "true")
    assert line.evaluate("node => node.style.stroke") != before
    assert watch.problems == []


def _overflow(page: Page) -> int:
    width = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert isinstance(width, int)
    return width
