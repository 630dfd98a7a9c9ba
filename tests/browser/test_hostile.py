from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dashboard.core.safe_text import visible
from dashboard.models import Run
from tests.browser.payloads import HIT, build_payloads
from tests.browser.watch import Watch
from tests.dashboard.runs.exchange.builders import build_chunked_reply, build_request
from tests.factories import make_attempt, make_endpoint, make_finished_run

PAGE = 36
# Elements that our pages never contain and that a text turned into markup would add.
FOREIGN = """() => [
  ...document.querySelectorAll(
    "script:not([src^='/static/'], [type='application/json']), iframe, object, embed, base,"
    + " math, marquee, plaintext, video, audio, style, svg script, meta[http-equiv],"
    + " link[rel=stylesheet]:not([href^='/static/']),"
    + " img:not([src^='/static/']), [onload], [onerror], [onclick], [onfocus], [onmouseover],"
    + " [ontoggle], [style*='position:fixed;inset'],"
    + " [hx-get*=hit], [data-hx-get], [hx-on\\\\:\\\\:load],"
    + " [href^='javascript:' i], [href^='data:' i]"
  ),
].map(element => element.outerHTML.slice(0, 200))"""
TOO_WIDE = """() => [...document.querySelectorAll("main *")]
  .filter(element => element.getBoundingClientRect().right > window.innerWidth + 1)
  .filter(element => !element.parentElement.closest("pre, .scroll, textarea"))
  .map(element => `${element.tagName}.${element.className}`).slice(0, 12)"""


@pytest.fixture
def runs(transactional_db: None) -> tuple[Run, Run]:
    """A passed and a failed run, with hostile texts in every possible field."""
    texts = build_payloads()
    named = [text for text in map(_storable, texts) if len(text) < 200]
    endpoint = make_endpoint(model=named[0], enabled=False)
    good = make_finished_run(endpoint)
    bad = make_finished_run(endpoint, passed=0, failed=9, reason="\n".join(named))
    for trial, page_texts in enumerate(_split_pages(texts), 1):
        make_attempt(good, trial=trial, evidence=_evidence(page_texts[::-1]))
        findings = [
            {"kind": "wrong_value", "message": text[:500], "path": text[:500]}
            for text in map(_storable, page_texts)
        ]
        make_attempt(
            bad, trial=trial, outcome="fail", findings=findings, evidence=_evidence(page_texts)
        )
    return good, bad


def test_two_hundred_hostile_texts_do_nothing(
    runs: tuple[Run, Run], open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """Every page with hostile texts shows them, runs nothing and keeps its layout."""
    _, run = runs
    texts = build_payloads()
    page, watch = open_page(width=390)

    for trial, page_texts in enumerate(_split_pages(texts), 1):
        page.goto(f"/runs/{run.pk}/attempts/format/{trial}/")
        _check_page(page)
        shown = page.evaluate("() => document.body.textContent")
        assert [text[:80] for text in page_texts if visible(text[:40]).strip() not in shown] == []
    page.goto(f"/runs/{run.pk}/attempts/format/1/difference/?as=raw")
    _check_page(page)
    page.goto(f"/runs/{run.pk}/")
    # Inserted by htmx, which would process its attributes and scripts.
    page.locator("#attempt-format-2 > summary").click()
    expect(page.locator("#attempt-format-2 .exchange-step").first).to_be_visible(timeout=30_000)
    _check_page(page)
    for path in ("/endpoints/steady/", "/"):
        page.goto(path)
        _check_page(page)

    assert len(texts) >= 200
    assert watch.problems == []
    _check_detection(page)


def _check_detection(page: Page) -> None:
    """Check that the assertions above fail on a page that lets payloads act."""
    page.route(
        "**/unsafe/", lambda route: route.fulfill(body=_unsafe_page(), content_type="text/html")
    )
    page.goto("/unsafe/", wait_until="domcontentloaded")
    assert page.evaluate("() => window.hit") == 1
    assert len(page.evaluate(FOREIGN)) >= 10


def _split_pages(texts: list[str]) -> list[list[str]]:
    return [texts[at : at + PAGE] for at in range(0, len(texts), PAGE)]


def _check_page(page: Page) -> None:
    assert page.evaluate("() => window.hit") is None
    assert page.evaluate(FOREIGN) == []
    wide = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, (page.url, page.evaluate(TOO_WIDE))
    expect(page.get_by_role("link", name="Toolgauge")).to_be_visible()


def _evidence(texts: Sequence[str]) -> dict[str, Any]:
    threes = [texts[at : at + 3] for at in range(0, len(texts), 3)]
    return {"exchanges": [_exchange(three) for three in threes], "findings": []}


def _exchange(texts: Sequence[str]) -> dict[str, Any]:
    """Texts in every field that a model or an endpoint can write to."""
    first, last = texts[0][:3000], texts[-1][:3000]
    reply = {"role": "assistant", "content": last}
    broken = {"id": last, "name": last, "raw": last, "kind": "invalid_json", "error": first}
    return {
        "label": first,
        "request": build_request({"role": "user", "content": first}, reply),
        "reply": build_chunked_reply(texts, headers={"server": last}, status=200),
        "calls": [*map(_call, texts), broken],
        "error": last,
    }


def _call(text: str) -> dict[str, Any]:
    short = text[:3000]
    arguments = {short: short, "deep": [{"x": short}]}
    call = {"id": short, "name": short, "input": arguments, "raw": text}
    return {**call, "format": short, "repairs": [short]}


def _storable(text: str) -> str:
    """The text in a form that the database can store."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _unsafe_page() -> str:
    # Without the payload that opens a dialog, which would wait for an answer.
    return f"<script>{HIT}</script>" + "".join(w for w in build_payloads()[:20] if "alert" not in w)
