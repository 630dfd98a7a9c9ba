from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dashboard.core.safe_text import visible
from dashboard.models import Run
from tests.browser.payloads import HIT, payloads
from tests.browser.watch import Watch
from tests.dashboard.runs.exchange.builders import build_chunked_reply, build_request
from tests.factories import make_attempt, make_endpoint, make_finished_run

PAGE = 36
# What pages of ours never have, and what would be there if a text had become markup.
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
    """A run that passed and one that failed; both say hostile things wherever they can."""
    words = payloads()
    named = [word for word in map(_storable, words) if len(word) < 200]
    endpoint = make_endpoint(model=named[0], enabled=False)
    good = make_finished_run(endpoint)
    bad = make_finished_run(endpoint, passed=0, failed=9, reason="\n".join(named))
    for trial, some in enumerate(_pages(words), 1):
        make_attempt(good, trial=trial, evidence=_evidence(some[::-1]))
        findings = [
            {"kind": "wrong_value", "message": word[:500], "path": word[:500]}
            for word in map(_storable, some)
        ]
        make_attempt(bad, trial=trial, outcome="fail", findings=findings, evidence=_evidence(some))
    return good, bad


def test_two_hundred_hostile_texts_do_nothing(
    runs: tuple[Run, Run], open_page: Callable[..., tuple[Page, Watch]]
) -> None:
    """On every page that shows them they are seen, run nothing and break nothing."""
    _, run = runs
    words = payloads()
    page, watch = open_page(width=390)

    for trial, some in enumerate(_pages(words), 1):
        page.goto(f"/runs/{run.pk}/attempts/format/{trial}/")
        _is_whole(page)
        text = page.evaluate("() => document.body.textContent")
        assert [word[:80] for word in some if visible(word[:40]).strip() not in text] == []
    page.goto(f"/runs/{run.pk}/attempts/format/1/difference/?as=raw")
    _is_whole(page)
    page.goto(f"/runs/{run.pk}/")
    # Put into the page by htmx, which would heed attributes and scripts of its own.
    page.locator("#attempt-format-2 > summary").click()
    expect(page.locator("#attempt-format-2 .exchange-step").first).to_be_visible(timeout=30_000)
    _is_whole(page)
    for path in ("/endpoints/steady/", "/"):
        page.goto(path)
        _is_whole(page)

    assert len(words) >= 200
    assert watch.troubles == []
    _would_notice(page)


def _would_notice(page: Page) -> None:
    """A page that let them act is found out: all of the above can fail."""
    page.route("**/unsafe/", lambda route: route.fulfill(body=_unsafe(), content_type="text/html"))
    page.goto("/unsafe/", wait_until="domcontentloaded")
    assert page.evaluate("() => window.hit") == 1
    assert len(page.evaluate(FOREIGN)) >= 10


def _pages(words: list[str]) -> list[list[str]]:
    return [words[at : at + PAGE] for at in range(0, len(words), PAGE)]


def _is_whole(page: Page) -> None:
    assert page.evaluate("() => window.hit") is None
    assert page.evaluate(FOREIGN) == []
    wide = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
    assert wide <= 0, (page.url, page.evaluate(TOO_WIDE))
    expect(page.get_by_role("link", name="Toolgauge")).to_be_visible()


def _evidence(words: Sequence[str]) -> dict[str, Any]:
    threes = [words[at : at + 3] for at in range(0, len(words), 3)]
    return {"exchanges": [_exchange(three) for three in threes], "findings": []}


def _exchange(words: Sequence[str]) -> dict[str, Any]:
    """Texts in every place that a model or an endpoint can write to."""
    first, last = words[0][:3000], words[-1][:3000]
    said = {"role": "assistant", "content": last}
    broken = {"id": last, "name": last, "raw": last, "kind": "invalid_json", "error": first}
    return {
        "label": first,
        "request": build_request({"role": "user", "content": first}, said),
        "reply": build_chunked_reply(words, headers={"server": last}, status=200),
        "calls": [*map(_call, words), broken],
        "error": last,
    }


def _call(word: str) -> dict[str, Any]:
    short = word[:3000]
    given = {short: short, "deep": [{"x": short}]}
    call = {"id": short, "name": short, "input": given, "raw": word}
    return {**call, "format": short, "repairs": [short]}


def _storable(word: str) -> str:
    """The text as a table can hold it."""
    return word.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _unsafe() -> str:
    # Without the one that opens a dialog, which would wait for somebody to answer.
    return f"<script>{HIT}</script>" + "".join(w for w in payloads()[:20] if "alert" not in w)
