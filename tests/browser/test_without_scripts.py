from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.browser import pages
from tests.browser.conftest import Site
from tests.browser.watch import Watch


@pytest.fixture
def filled(site: Site) -> dict[str, list[str]]:
    User.objects.filter(username="alice").update(is_superuser=True)
    return pages.fill_database()


def test_a_person_without_scripts_reads_from_the_fleet_to_the_bytes(
    filled: dict[str, list[str]],
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """Links alone lead from the fleet to an attempt's request, to incidents and to compare."""
    page, watch = open_page(width=390, java_script_enabled=False)

    page.get_by_role("link", name="steady").first.click()
    expect(page.get_by_role("heading", level=1, name="steady")).to_be_visible()
    page.locator(f"a[href='{filled['run'][0]}']:visible").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Run")
    page.locator("summary").last.click()
    page.locator("a[href*='/attempts/']:visible").first.click()
    expect(page.locator("pre").first).to_be_visible()

    page.goto("/")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Incidents").click()
    expect(page.get_by_role("heading", level=1, name="Incidents")).to_be_visible()
    page.locator(f"a[href='{filled['incident'][0]}']:visible").first.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Compare").click()
    expect(page.locator("table")).to_contain_text("fallen")
    assert watch.problems == []
