from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from tests.browser.conftest import Site
from tests.browser.watch import Watch
from tests.factories import make_endpoint, make_rollup


@pytest.fixture
def hosts(site: Site) -> None:
    """One model on a healthy and on a failing host, and another model."""
    for slug, model, failed in (("here", "same", 0), ("there", "same", 4), ("else", "other", 0)):
        endpoint = make_endpoint(slug=slug, model=model)
        for hours in (5, 3, 1):
            at = timezone.now() - timedelta(hours=hours)
            make_rollup(endpoint, at, trials=5, failures=failed)


@pytest.mark.usefixtures("hosts")
def test_one_model_is_compared_across_hosts(
    open_page: Callable[..., tuple[Page, Watch]], tmp_path: Path
) -> None:
    """Ticked endpoints share one chart, with a line each, in the URL and in the export."""
    page, watch = open_page()
    page.get_by_role("link", name="Compare").click()
    expect(page.locator("table.heat tbody tr")).to_have_count(3)

    page.get_by_label("Same model").select_option("same")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("table.heat tbody tr")).to_have_count(2)
    page.get_by_label("Compare here").check()
    page.get_by_label("Compare there").check()
    page.get_by_role("button", name="Compare the ticked").click()

    expect(page.locator("[data-chart] .scatterlayer .trace")).to_have_count(2)
    expect(page.locator("[data-chart] .legend")).to_contain_text("there")
    assert {"endpoint=here", "endpoint=there"} <= set(page.url.split("?")[1].split("&"))
    with page.expect_download() as download:
        page.locator(".compare-chart").get_by_role("link", name="JSON").click()
    download.value.save_as(tmp_path / "chart.json")
    exported = json.loads((tmp_path / "chart.json").read_text())
    assert {"here", "there"} <= set(json.dumps(exported).split('"'))

    page.get_by_label("Leave there out").click()

    expect(page.locator("main")).to_contain_text("here stands alone")
    assert watch.problems == []
