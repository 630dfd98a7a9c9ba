from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dashboard.core import partitions
from dashboard.models import RollupHour
from dashboard.runs.observations import PROBE
from health.observation_bits import PLACES
from probes.outcomes import Metric
from tests.browser.conftest import Site
from tests.browser.watch import Watch
from tests.factories import make_endpoint, make_finished_run

RUNS = 12


@pytest.fixture
def probed(site: Site) -> datetime:
    """An endpoint with a run every hour; returns the time of the last one."""
    endpoint, last = make_endpoint(), timezone.now() - timedelta(hours=1)
    for hours in range(RUNS):
        make_finished_run(endpoint, at=last - timedelta(hours=hours), requests=5)
    return last


@pytest.fixture
def compared(site: Site) -> datetime:
    """Two endpoints with figures of one hour; returns the start of that hour."""
    at = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=3)
    partitions.ensure_months([at.date()], parents=partitions.ROLLUPS)
    place = {"metric": PLACES[Metric.PARSE_SUCCESS], "lane": PROBE, "bucket": at}
    for slug in ("one", "two"):
        profile = make_endpoint(slug=slug).profile
        RollupHour.objects.create(profile_id=profile.pk, **place, trials=10, failures=1)
    return at


def test_a_chart_is_zoomed_annotated_and_downloaded(
    probed: datetime, open_page: Callable[..., tuple[Page, Watch]], tmp_path: Path
) -> None:
    """Zoom is in the URL and undone by back; a note is a mark; the download is a PNG."""
    page, watch = open_page(timezone_id="Asia/Tokyo")
    page.goto("/endpoints/steady/?range=24h", wait_until="networkidle")
    chart = page.locator("[data-chart]")
    expect(chart).to_have_attribute("data-points", str(RUNS))
    expect(chart.locator(".xtitle")).to_have_text("Time (Asia/Tokyo)")

    _drag(page, 0.55, 0.98)

    expect(chart).to_have_attribute("data-points", "5")
    query = parse_qs(urlsplit(page.url).query)
    start, end = (datetime.fromisoformat(query[name][0]) for name in ("from", "to"))
    assert start < probed - timedelta(hours=4)
    assert probed - timedelta(hours=5) < start < probed < end
    expect(chart.locator(".scatterlayer .point")).to_have_count(5)

    page.go_back()
    expect(chart).to_have_attribute("data-points", str(RUNS))
    assert "from=" not in page.url
    page.go_forward()
    expect(chart).to_have_attribute("data-points", "5")
    page.get_by_role("link", name="Reset zoom").click()
    expect(chart).to_have_attribute("data-points", str(RUNS))

    page.get_by_text("Add a note…").click()
    page.get_by_label("What happened").fill("a new engine <b>")
    local_time = probed.astimezone(timezone.get_fixed_timezone(9 * 60)) - timedelta(hours=2)
    page.get_by_label("When (Asia/Tokyo)").fill(f"{local_time:%Y-%m-%dT%H:%M}")
    page.get_by_role("button", name="Add the note").click()
    expect(page.locator(".notes")).to_contain_text("a new engine <b>")
    expect(chart.locator(".legend")).to_contain_text("Note")
    marked = chart.evaluate("it => it.data.find((each) => each.name === 'Note').x[0]")
    assert marked[:16] == f"{local_time:%Y-%m-%d %H:%M}"

    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    picture = tmp_path / "chart.png"
    download.value.save_as(picture)
    assert download.value.suggested_filename == "steady-parse_success.png"
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 10_000
    assert watch.problems == []


def test_the_comparison_uses_the_readers_time_zone(
    compared: datetime, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Axis and points are in the reader's time zone, and the axis names it."""
    page, watch = open_page(timezone_id="Asia/Tokyo")

    page.goto("/compare/?endpoint=one&endpoint=two&range=7d", wait_until="networkidle")

    chart = page.locator("[data-chart]")
    expect(chart.locator(".xtitle")).to_have_text("Time (Asia/Tokyo)")
    local_time = compared.astimezone(timezone.get_fixed_timezone(9 * 60))
    assert chart.evaluate("it => it.data[0].x[0]")[:16] == f"{local_time:%Y-%m-%d %H:%M}"
    assert "<time>" not in chart.evaluate("it => it.data[0].text[0]")
    assert watch.problems == []


def _drag(page: Page, start: float, end: float) -> None:
    """Drag over the plot from one share of its width to another."""
    box = page.locator("[data-chart] .nsewdrag").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, middle, steps=8)
    page.mouse.up()
