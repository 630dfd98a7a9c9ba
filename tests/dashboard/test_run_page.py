from __future__ import annotations

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from tests.factories import make_attempt, make_endpoint, make_finished_run

HOSTILE = "<script>alert(1)</script>\u202e\u200b\x1b]8;;http://x\x07<img src=x onerror=alert(1)>"
EXCHANGE = {
    "label": HOSTILE,
    "request": {"method": "POST", "url": "http://127.0.0.1:9/v1", "body": '{"model": "m"}'},
    "reply": {"status": 200, "headers": {}, "chunks": [{"ms": 3, "text": HOSTILE}], "bytes": 9},
    "calls": [{"id": "1", "name": HOSTILE, "input": {"message": "hello"}}],
    "error": None,
}


def test_the_page_lists_every_attempt(signed_in: Client) -> None:
    """A run shows what each attempt came to, and why."""
    run = make_finished_run(make_endpoint(), passed=1, failed=1)
    make_attempt(run, trial=1)
    found = {"kind": "wrong_value", "message": "The tag is gamma.", "path": "$.tag"}
    make_attempt(run, trial=2, outcome="fail", findings=[found])

    page = signed_in.get(f"/runs/{run.pk}/")

    assertContains(page, "The tag is gamma.")
    assertContains(page, "wrong value")
    assertContains(page, f'hx-get="/runs/{run.pk}/attempts/format/2/"')


def test_evidence_is_inert(signed_in: Client) -> None:
    """Markup of a model is text, and its invisible characters are seen."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, evidence={"exchanges": [EXCHANGE, EXCHANGE], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    assertNotContains(page, "<html")
    assertNotContains(page, "<script")
    assertNotContains(page, "<img")
    assertContains(page, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧⟦U+200B⟧␛]8;;http://x␇")
    assertContains(page, "hello")


def test_every_exchange_of_an_attempt_is_shown_in_order(signed_in: Client) -> None:
    """A script asks several times; each question stands under its own heading."""
    run = make_finished_run(make_endpoint())
    first = {**EXCHANGE, "label": "asked"}
    second = {**EXCHANGE, "label": "with the result", "reply": None, "error": "Timed out."}
    make_attempt(run, evidence={"exchanges": [first, second], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    assertContains(page, "1. asked")
    assertContains(page, "2. with the result")
    assertContains(page, "Timed out.")
    assertContains(page, "None arrived.")


def test_hostile_findings_are_inert_on_every_page(signed_in: Client) -> None:
    """What a model wrote into a finding runs nowhere."""
    run = make_finished_run(make_endpoint(), passed=0, failed=1)
    finding = {"kind": "wrong_value", "message": HOSTILE, "path": ""}
    make_attempt(run, outcome="fail", findings=[finding])

    for path in (f"/runs/{run.pk}/", "/endpoints/steady/"):
        page = signed_in.get(path)
        assertNotContains(page, "<script>alert")
        assertNotContains(page, "\u202e")


def test_evidence_that_is_gone_is_said_to_be(signed_in: Client) -> None:
    """Attempts outlive their evidence."""
    run = make_finished_run(make_endpoint())
    make_attempt(run)

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    assertContains(page, "no longer stored")


@pytest.mark.parametrize("path", ["", "progress/", "attempts/", "attempts/format/1/"])
def test_an_unknown_run_is_not_found(signed_in: Client, path: str) -> None:
    """A run that does not exist is a 404 in every part."""
    assert signed_in.get(f"/runs/404404/{path}").status_code == 404


@pytest.mark.parametrize("path", ["", "progress/", "attempts/", "attempts/format/1/"])
def test_anonymous_sees_no_run(client: Client, db: None, path: str) -> None:
    """Runs and their evidence ask for a sign-in first."""
    run = make_finished_run(make_endpoint())

    answer = client.get(f"/runs/{run.pk}/{path}")

    assert answer.headers["Location"].startswith("/login/")


def test_runs_of_a_removed_endpoint_are_gone(signed_in: Client) -> None:
    """An endpoint takes its runs with it."""
    run = make_finished_run(make_endpoint())
    signed_in.post("/endpoints/steady/remove/")

    assert signed_in.get(f"/runs/{run.pk}/").status_code == 404


def test_what_went_wrong_stands_first(signed_in: Client) -> None:
    """Among fifty attempts nobody should have to look for the failed one."""
    run = make_finished_run(make_endpoint())
    for trial, outcome in enumerate(("pass", "void", "fail"), 1):
        make_attempt(run, trial=trial, outcome=outcome)

    page = signed_in.get(f"/runs/{run.pk}/").content.decode()

    places = [page.index(f"/attempts/format/{trial}/") for trial in (3, 2, 1)]
    assert places == sorted(places)
