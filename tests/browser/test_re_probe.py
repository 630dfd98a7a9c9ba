from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from dashboard.runs.services import price_ceiling
from probes.suite import plan_trials
from tests.browser.watch import Watch

# Records every value of the bar, including those between two checks of the test.
SAMPLE = """() => {
  window.values = new Set();
  new MutationObserver(() => {
    const bar = document.querySelector("#run-part progress");
    if (bar) window.values.add(bar.value);
  }).observe(document.querySelector("#run-part"), {childList: true, subtree: true});
}"""


def test_a_person_adds_an_endpoint_and_watches_it_being_probed(
    open_page: Callable[..., tuple[Page, Watch]], worker: None, vendor_url: str
) -> None:
    """A run started by the button adds a point to the chart without a reload."""
    planned = len(plan_trials("full"))
    page, watch = open_page()
    # The page asks for the progress every second: answers at once would end the run before that.
    _add_endpoint(page, f"{vendor_url}/with/slow,value=0.1/open/v1")
    expect(page.get_by_text("No run that ended in this range has a trial")).to_be_visible()
    page.evaluate(SAMPLE)

    page.get_by_role("link", name="Re-probe").click()
    dialog = page.get_by_role("dialog", name="Re-probe sim-one")
    expect(dialog.locator("[data-suite=full]")).to_contain_text(f"{price_ceiling('full').tokens:,}")
    dialog.get_by_role("button", name="Start the full run").click()
    expect(dialog).to_be_hidden()
    expect(page.locator("#run-part .run-progress")).to_contain_text(f"of {planned} attempts")
    ended = page.locator("#run-part .run-ended")
    expect(ended).to_contain_text(f"{planned} passed", timeout=60_000)

    # Five parts are fetched when a run ends, one after the other on a busy machine.
    expect(page.locator("[data-chart]")).to_have_attribute("data-points", "1", timeout=30_000)
    expect(page.locator("[data-chart] .scatterlayer .point")).to_have_count(1)
    expect(page.locator("#lead")).to_contain_text(re.compile(r"\b(\d+)/\1\b"))
    expect(page.locator("#runs-part tbody tr")).to_have_count(1)
    _check_evidence_link(page)
    # The set is kept in the page: a reload would have lost it.
    assert len(page.evaluate("() => [...window.values]")) >= 2
    assert watch.problems == []


def test_a_run_without_a_worker_can_be_cancelled(
    open_page: Callable[..., tuple[Page, Watch]],
) -> None:
    """Without a worker the run waits, and the page can cancel it."""
    page, watch = open_page(width=390)
    _add_endpoint(page, "http://127.0.0.1:9/v1")

    page.get_by_role("link", name="Re-probe").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_role("link", name="Re-probe").click()
    page.get_by_role("button", name="Start the light run").click()
    expect(page.locator("#run-part")).to_contain_text("Waiting for a worker")
    page.get_by_role("button", name="Cancel").click()

    expect(page.locator("#run-part .run-ended")).to_contain_text("cancelled by alice")
    assert watch.problems == []


def _check_evidence_link(page: Page) -> None:
    """Each capability that the run determined links to its evidence."""
    row = page.locator("#capabilities tbody tr", has_text="tool_call_format")
    expect(row).to_contain_text("on the wire, in the format openai")
    why = row.locator(".whys a").first.get_attribute("href")
    assert why is not None
    assert page.request.get(why).ok


def _add_endpoint(page: Page, base_url: str) -> None:
    page.get_by_role("link", name="Add endpoint").click()
    page.get_by_label("Name").fill("sim-one")
    page.get_by_label("Base URL").fill(base_url)
    page.get_by_label("Model").fill("sim-steady")
    page.get_by_label("Requests at once").fill("1")
    # Only the button starts runs, so that the test knows which one it sees.
    page.get_by_label("Probe on schedule").uncheck()
    page.get_by_role("button", name="Add endpoint").click()
    expect(page.get_by_text("sim-one is registered")).to_be_visible()
    # Before its scripts are loaded the page works too, but with full reloads.
    page.wait_for_load_state("load")
