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
    """A run of beta, which stands below alpha."""
    make_finished_run(make_endpoint(slug="alpha"), passed=9, failed=1)
    beta = make_endpoint(slug="beta")
    make_finished_run(beta)
    return make_run(beta)


def test_a_person_finds_an_endpoint_by_keys(
    three: None, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Search, filter, rows, figures, back again and the dialog of keys, without a mouse."""
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
    expect(tip).to_contain_text("70% (7 of 10, 95 % interval 39% to 89%), degraded")
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
    assert watch.troubles == []


def test_a_run_that_ends_changes_its_row_alone(
    under_way: Run, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """No reload: the row moves on, keeps the focus, and a new order waits until nobody is busy."""
    page, watch = open_page(width=1200)
    rows = page.locator(".row-link")
    page.evaluate("() => { window.kept = document.querySelector('#fleet table'); }")
    page.get_by_role("link", name="beta").focus()

    row = page.locator(f"#row-{under_way.endpoint_id}")

    _meanwhile(lambda: make_attempt(under_way))
    _look_again(page)
    expect(row.locator("progress")).to_have_attribute("value", "1")
    _meanwhile(lambda: _end_badly(under_way))
    _look_again(page)

    expect(row).to_contain_text("failing")
    expect(row).to_have_class("changed")
    expect(page.get_by_role("link", name="beta")).to_be_focused()
    expect(page.locator("#fleet-counts")).to_contain_text("1 failing")
    expect(rows).to_have_text(["alpha", "beta"])
    assert page.evaluate("() => window.kept.isConnected")

    page.get_by_role("link", name="Show it as it is now").click()
    expect(rows).to_have_text(["beta", "alpha"])
    assert watch.troubles == []


def _end_badly(run: Run) -> None:
    endpoint = run.endpoint
    run.delete()
    make_finished_run(endpoint, passed=2, failed=8)


def _meanwhile(change: Callable[[], object]) -> None:
    """Change rows while the browser is open: its loop keeps this thread from the database."""

    def work() -> None:
        try:
            change()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


def _look_again(page: Page) -> None:
    """What happens every ten seconds, and when a person comes back to the page."""
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
