from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from playwright.sync_api import Page, expect

from dashboard.models import Run
from tests.browser.watch import Watch
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run


@pytest.fixture
def three(transactional_db: None) -> None:
    make_finished_run(make_endpoint(slug="alpha", tags=["eu"]), passed=7, failed=3)
    make_finished_run(make_endpoint(slug="beta", tags=["eu"]))
    make_finished_run(make_endpoint(slug="gamma"))


@pytest.fixture
def under_way(transactional_db: None) -> Run:
    """A run of beta, which is listed below alpha."""
    make_finished_run(make_endpoint(slug="alpha"), passed=9, failed=1)
    beta = make_endpoint(slug="beta")
    make_finished_run(beta)
    return make_run(beta)


def test_a_person_finds_an_endpoint_by_keys(
    three: None, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Search, filter, rows, figures, history and the shortcut dialog work without a mouse."""
    page, watch = open_page()
    rows, keys = page.locator(".row-link"), page.keyboard
    expect(rows).to_have_text(["alpha", "beta", "gamma"])

    keys.press("/")
    keys.type("eu")
    expect(rows).to_have_text(["alpha", "beta"])
    expect(page).to_have_url(re.compile(r"/\?q=eu$"))
    expect(page.get_by_label("Search")).to_be_focused()

    keys.press("Tab")
    keys.type("he")
    expect(rows).to_have_text(["beta"])
    expect(page).to_have_url(re.compile(r"/\?q=eu&status=healthy$"))
    keys.press("Home")
    expect(rows).to_have_text(["alpha", "beta"])

    page.get_by_label("Search").focus()
    keys.press("ArrowDown")
    expect(page.get_by_role("link", name="alpha")).to_be_focused()
    keys.press("ArrowRight")
    tip = page.locator(".metric-words").first
    expect(tip).to_contain_text("70% (7 of 10, 95 % interval 39% to 90%), degraded")
    expect(tip).to_be_in_viewport()
    keys.press("j")
    expect(page.get_by_role("link", name="beta")).to_be_focused()
    keys.press("Enter")
    expect(page).to_have_url(re.compile("/endpoints/beta/$"))

    page.go_back()
    expect(rows).to_have_text(["alpha", "beta"])
    expect(page.get_by_label("Search")).to_have_value("eu")
    keys.press("?")
    expect(page.locator("#keys")).to_be_visible()
    keys.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    keys.type("gi")
    expect(page).to_have_url(re.compile("/incidents/$"))
    assert watch.problems == []


def test_a_run_that_ends_changes_its_row_alone(
    under_way: Run, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """The row updates without a reload and keeps the focus; reordering waits for the user."""
    page, watch = open_page(width=1200)
    rows = page.locator(".row-link")
    expect(page.locator("#fleet-moved")).to_be_hidden()
    page.evaluate("() => { window.kept = document.querySelector('#fleet table'); }")
    page.get_by_role("link", name="beta").focus()

    row = page.locator(f"#row-{under_way.endpoint_id}")

    _change_rows(lambda: make_attempt(under_way))
    _refresh(page)
    expect(row.locator("progress")).to_have_attribute("value", "1")
    _change_rows(lambda: _finish_with_failures(under_way))
    _refresh(page)

    expect(row).to_contain_text("failing")
    expect(row).to_have_class("changed")
    expect(page.get_by_role("link", name="beta")).to_be_focused()
    expect(page.locator("#fleet-counts")).to_contain_text("1 failing")
    expect(rows).to_have_text(["alpha", "beta"])
    assert page.evaluate("() => window.kept.isConnected")

    page.get_by_role("link", name="Show it as it is now").click()
    expect(rows).to_have_text(["beta", "alpha"])
    assert watch.problems == []


def _finish_with_failures(run: Run) -> None:
    endpoint = run.endpoint
    run.delete()
    make_finished_run(endpoint, passed=2, failed=8)


def _change_rows(change: Callable[[], object]) -> None:
    """Change rows in a thread: the browser's event loop blocks database access here."""

    def work() -> None:
        try:
            change()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def _refresh(page: Page) -> None:
    """Trigger the refresh that runs every ten seconds and when the page becomes visible."""
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
