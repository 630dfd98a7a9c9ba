"""From a new installation to the first verdict."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from dashboard.demo.services import fleet
from tests.browser.conftest import Site
from tests.browser.watch import Watch


def test_an_empty_installation_leads_to_a_verdict(
    open_page: Callable[..., tuple[Page, Watch]], worker: None, vendor_url: str
) -> None:
    """The first run leads over a preset, a failed and a successful try to a verdict."""
    page, watch = open_page()
    expect(page.get_by_role("heading", name="The first verdict takes a minute")).to_be_visible()
    page.get_by_role("link", name="vLLM or SGLang").click()

    expect(page.get_by_label("Base URL")).to_have_value("http://127.0.0.1:8000/v1")
    page.get_by_label("Base URL").fill(f"{vendor_url}/openai")
    page.get_by_label("Name").fill("first")
    page.get_by_label("Model").fill("sim-steady")
    page.get_by_label("API key").fill("sim-key")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_text("Did you mean this base URL?")).to_be_visible()
    page.get_by_role("button", name="Use it").click()
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("heading", name="It works: one tool call came back")).to_be_visible()
    page.get_by_role("button", name="Add endpoint").click()

    page.wait_for_url("**/endpoints/first/")
    # The key was still in its field: without it nothing would pass.
    expect(page.locator("#lead")).to_contain_text("healthy", timeout=90_000)
    assert watch.problems == []


@pytest.fixture
def simulated_fleet(site: Site) -> None:
    fleet.register_fleet("http://127.0.0.1:9")
    User.objects.create_superuser("root")


def test_the_simulated_fleet_is_removed_with_one_click(
    simulated_fleet: None, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """The notice leads to a confirmation that lists all endpoints, and back to the first run."""
    page, watch = open_page(width=390, username="root")

    page.get_by_role("link", name="Remove the simulated fleet").click()
    expect(page.get_by_role("link", name="demo-steady")).to_be_visible()
    page.get_by_role("button", name="Remove the simulated fleet").click()

    expect(page.get_by_text("10 simulated endpoints were removed.")).to_be_visible()
    expect(page.get_by_role("heading", name="The first verdict takes a minute")).to_be_visible()
    assert watch.problems == []
