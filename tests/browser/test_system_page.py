from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.watch import Watch
from tests.factories import make_endpoint, make_finished_run
from tests.live import celery_worker


@pytest.fixture
def fleet(transactional_db: None) -> None:
    """Endpoints of several providers, the longest slug among them."""
    for number, provider in enumerate(("openai", "anthropic", "openai_responses")):
        endpoint = make_endpoint(slug=f"{number}{'x' * 59}", provider=provider, enabled=False)
        make_finished_run(endpoint, void=2)


@pytest.mark.usefixtures("fleet")
def test_the_system_page_fits(open_page: Callable[..., tuple[Page, Watch]]) -> None:
    """On a phone and on a desktop nothing is wider than the screen, without any problem."""
    for width, scheme in ((390, "dark"), (1440, "light")):
        page, watch = open_page(width=width, scheme=scheme)

        if width < 760:
            page.get_by_role("button", name="Menu").click()
        page.get_by_role("link", name="Settings").click()
        page.get_by_role("link", name="System").click()

        expect(page.get_by_role("heading", name="Runs by provider")).to_be_visible()
        extra = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        assert extra <= 0, width
        assert watch.problems == []


@pytest.mark.usefixtures("fleet")
def test_the_system_page_refreshes_itself(
    open_page: Callable[..., tuple[Page, Watch]], tmp_path: Path
) -> None:
    """A started worker shows up without a reload, and the warning disappears."""
    page, watch = open_page()
    page.goto("/settings/system/")
    expect(page.get_by_text("No worker is alive, so nothing is probed.")).to_be_visible()

    with celery_worker(tmp_path / "worker.log"):
        gone = expect(page.get_by_text("No worker is alive, so nothing is probed."))
        gone.to_have_count(0, timeout=90_000)
        expect(page.get_by_text("tool-probe-v2").first).to_be_visible()

    assert watch.problems == []
