from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dashboard.models import Run
from tests.browser.watch import Watch
from tests.dashboard.runs.exchange.builders import (
    build_chunked_reply,
    build_evidence,
    build_exchange,
    build_reply,
    build_request,
)
from tests.factories import make_attempt, make_endpoint, make_finished_run

FINDING = {
    "kind": "wrong_value",
    "message": "tag should be 'beta' and is 'gamma'.",
    "path": "$.calls[0].input.tag",
}


@pytest.fixture
def run(transactional_db: None) -> Run:
    """A good run, and a failed one whose second attempt was streamed."""
    endpoint = make_endpoint(enabled=False)
    good = build_reply({"content": "All is well."})
    make_attempt(make_finished_run(endpoint), evidence=build_evidence(build_exchange(reply=good)))
    run = make_finished_run(endpoint, passed=1, failed=1)
    make_attempt(run, outcome="fail", findings=[FINDING], evidence=build_evidence(build_exchange()))
    chunks = [f"data: {number}\n\n" for number in range(5000)]
    streamed = build_exchange(
        request=build_request(stream=True), reply=build_chunked_reply(chunks), calls=[]
    )
    make_attempt(run, probe="streaming", evidence=build_evidence(streamed))
    return run


def test_from_the_fleet_to_the_bytes(
    run: Run, open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Clicks lead from the fleet to endpoint, run, attempt, marked bytes, chunks, diff, files."""
    page, watch = open_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("link", name="steady", exact=True).first.click()
    page.get_by_role("link", name=str(run.pk)).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        f"Run {run.pk}: 1 of 2 attempts failed"
    )

    # The run page loads the evidence in place, and the finding links to its mark.
    page.locator("#attempt-format-1 > summary").click()
    page.get_by_role("link", name="Show in reply 1").click()
    expect(page.locator("mark")).to_have_text(r"\"tag\": \"gamma\"")
    expect(page.locator("mark")).to_be_in_viewport()
    expect(page.locator(".call.blocked .call-name")).to_have_text("probe_echo")

    # So does the attempt's own page, with the command to repeat it.
    page.get_by_role("link", name="Open on its own page").first.click()
    page.locator("summary", has_text="curl").click()
    page.get_by_role("button", name="Copy as curl").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()").startswith("curl ")
    with page.expect_download() as raw:
        page.get_by_role("link", name="Download the raw bytes").click()
    assert b"gamma" in Path(raw.value.path()).read_bytes()

    page.get_by_role("link", name="Compare with the last good one").click()
    expect(page.locator(".diff del").first).to_be_visible()
    page.get_by_role("link", name=f"run {run.pk}", exact=True).first.click()

    # Five thousand chunks are shown as a chart and in pages.
    page.locator("#attempt-streaming-1 > summary").click()
    page.get_by_role("link", name="Show the 5,000 chunks").click()
    page.get_by_role("link", name="Later").click()
    expect(page.locator(".chunks tbody tr").first).to_contain_text("101")
    with page.expect_download() as bundle:
        page.get_by_role("link", name="Download evidence").click()
    names = zipfile.ZipFile(io.BytesIO(Path(bundle.value.path()).read_bytes())).namelist()
    assert {"run.json", "format-1/1/reply.txt", "streaming-1/1/chunks.jsonl"} <= set(names)
    expect(page).to_have_url(re.compile(rf"/runs/{run.pk}/"))
    assert watch.problems == []
