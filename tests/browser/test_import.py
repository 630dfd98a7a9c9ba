from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.browser.watch import Watch
from tests.dashboard.endpoints.as_code.builders import NEW, STEADY
from tests.factories import make_endpoint


@pytest.fixture
def administrator(site: Site) -> None:
    User.objects.filter(username="alice").update(is_superuser=True)
    make_endpoint(model="m-0")
    make_endpoint(slug="gone")


@pytest.mark.usefixtures("administrator")
def test_a_file_is_corrected_previewed_and_applied_on_a_phone(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """A wrong line is marked and linked, the diff is shown, and the endpoint is created."""
    page, watch = open_page(width=390)
    page.goto("/settings/import/")
    text, preview = page.get_by_label("YAML"), page.get_by_role("button", name="Show what would")

    text.fill(STEADY + NEW.replace("anthropic", "antropic"))
    preview.click()

    expect(page.get_by_role("alert")).to_contain_text("Line 9, column 15:")
    expect(page.get_by_role("alert")).to_contain_text("Did you mean “anthropic”?")
    expect(page.locator(".excerpt-line.wrong")).to_contain_text("provider: antropic")
    page.get_by_role("button", name="Go to line 9").click()
    chosen = text.evaluate("box => box.value.slice(box.selectionStart, box.selectionEnd)")
    assert chosen == "    provider: antropic"
    assert _overflow(page) <= 0

    text.fill(STEADY + NEW)
    page.get_by_label("Remove endpoints that do not stand").check()
    preview.click()

    change = page.locator("article", has_text="steady")
    expect(change).to_contain_text("change")
    expect(change.locator("del")).to_have_text("m-0")
    expect(change.locator("ins")).to_have_text("m-1")
    expect(page.locator("article", has_text="fresh")).to_contain_text("create")
    expect(page.locator("article", has_text="gone")).to_contain_text("remove")
    assert _overflow(page) <= 0

    page.get_by_role("button", name="Apply and remove 1 endpoint").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Applied: 3 endpoints changed")
    page.get_by_role("link", name="fresh").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("fresh")
    assert watch.problems == []


def _overflow(page: Page) -> int:
    extra = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    return int(extra)
