from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboard.runs.text import OTHER, probe_group, probe_question
from probes.suite import PROBES
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run
from tests.markup import assert_contains, assert_not_contains

HOSTILE = "<script>alert(1)</script>\u202e\u200b\x1b]8;;http://x\x07<img src=x onerror=alert(1)>"
EXCHANGE = {
    "label": HOSTILE,
    "request": {"method": "POST", "url": "http://127.0.0.1:9/v1", "body": '{"model": "m"}'},
    "reply": {"status": 200, "headers": {}, "chunks": [{"ms": 3, "text": HOSTILE}], "bytes": 9},
    "calls": [{"id": "1", "name": HOSTILE, "input": {"message": "hello"}}],
    "error": None,
}
PARTS = (
    *("", "progress/", "attempts/", "bundle/", "attempts/format/1/"),
    *("attempts/format/1/difference/", "attempts/format/1/bundle/"),
    *("attempts/format/1/1/chunks/", "attempts/format/1/1/raw/"),
)


def test_the_page_lists_every_attempt(signed_in: Client) -> None:
    """The page of a run shows the outcome and the findings of each attempt."""
    run = make_finished_run(make_endpoint(), passed=1, failed=1)
    make_attempt(run, trial=1)
    finding = {"kind": "wrong_value", "message": "The tag is gamma.", "path": "$.tag"}
    make_attempt(run, trial=2, outcome="fail", findings=[finding])

    page = signed_in.get(f"/runs/{run.pk}/")

    assert_contains(page, "The tag is gamma.")
    assert_contains(page, "wrong_value")
    assert_contains(page, "1 of 2 passed")
    assert_contains(page, "Single call: does the model make the requested tool call?")
    assert_contains(page, f'hx-get="/runs/{run.pk}/attempts/format/2/"')


def test_evidence_is_inert(signed_in: Client) -> None:
    """Markup of a model is escaped, and its invisible characters are spelled out."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, evidence={"exchanges": [EXCHANGE, EXCHANGE], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/", headers={"HX-Request": "true"})

    assert_not_contains(page, "<html")
    assert_not_contains(page, "<script")
    assert_not_contains(page, "<img")
    assert_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧⟦U+200B⟧␛]8;;http://x␇")
    assert_contains(page, "hello")


def test_every_exchange_of_an_attempt_is_shown_in_order(signed_in: Client) -> None:
    """Each exchange of a script has its own heading, in order."""
    run = make_finished_run(make_endpoint())
    first = {**EXCHANGE, "label": "asked"}
    second = {**EXCHANGE, "label": "with the result", "reply": None, "error": "Timed out."}
    make_attempt(run, evidence={"exchanges": [first, second], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    text = page.content.decode()
    assert text.index(">asked<") < text.index(">with the result<")
    assert_contains(page, "Timed out.")
    assert_contains(page, "No reply arrived.")


def test_retried_answers_are_shown_with_the_run_and_with_the_request(signed_in: Client) -> None:
    """A rate limit that only cost time leaves a trace on both pages."""
    run = make_finished_run(make_endpoint(), retried={"429": 28})
    retried = [{"status": 429, "headers": {"retry-after": "2"}, "total_ms": 3}] * 2
    exchange = {**EXCHANGE, "retried": retried}
    make_attempt(run, evidence={"exchanges": [exchange], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/progress/")
    attempt = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    assert "28 answers of 429 retried" in " ".join(page.content.decode().split())
    assert_contains(attempt, "Sent again after answers of 429, 429.")


def test_requests_that_were_sent_again_on_a_new_connection_are_shown(signed_in: Client) -> None:
    """They leave a trace on both pages, in words of their own."""
    run = make_finished_run(make_endpoint(), retried={"503": 1, "reconnected": 2})
    make_attempt(run, evidence={"exchanges": [{**EXCHANGE, "reconnects": 1}], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/progress/")
    attempt = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    text = " ".join(page.content.decode().split())
    assert "1 answer of 503 retried" in text
    assert "2 requests sent again on a new connection" in text
    assert "reconnected" not in text
    assert_contains(
        attempt, "Sent again on a new connection: the endpoint had closed the idle one."
    )


def test_hostile_findings_are_inert_on_every_page(signed_in: Client) -> None:
    """Markup in the message of a finding is escaped on every page."""
    run = make_finished_run(make_endpoint(), passed=0, failed=1)
    finding = {"kind": "wrong_value", "message": HOSTILE, "path": ""}
    make_attempt(run, outcome="fail", findings=[finding])

    for path in (f"/runs/{run.pk}/", "/endpoints/steady/"):
        page = signed_in.get(path)
        assert_not_contains(page, "<script>alert")
        assert_not_contains(page, "\u202e")


def test_expired_evidence_is_reported(signed_in: Client) -> None:
    """The page of an attempt says that its evidence is no longer stored."""
    run = make_finished_run(make_endpoint())
    make_attempt(run)

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    assert_contains(page, "no longer stored")


@pytest.mark.parametrize("path", PARTS)
def test_an_unknown_run_is_not_found(signed_in: Client, path: str) -> None:
    """A run that does not exist is a 404 in every part."""
    assert signed_in.get(f"/runs/404404/{path}").status_code == 404


@pytest.mark.parametrize("path", PARTS)
def test_anonymous_sees_no_run(client: Client, db: None, path: str) -> None:
    """Runs and their evidence require a sign-in."""
    run = make_finished_run(make_endpoint())

    response = client.get(f"/runs/{run.pk}/{path}")

    assert response.headers["Location"].startswith("/login/")


def test_runs_of_a_removed_endpoint_are_not_found(signed_in: Client) -> None:
    """Removing an endpoint hides its runs."""
    run = make_finished_run(make_endpoint())
    signed_in.post("/endpoints/steady/remove/")

    assert signed_in.get(f"/runs/{run.pk}/").status_code == 404


def test_failures_come_first(signed_in: Client) -> None:
    """Failed attempts are listed before void and passing ones."""
    run = make_finished_run(make_endpoint())
    for trial, outcome in enumerate(("pass", "void", "fail"), 1):
        make_attempt(run, trial=trial, outcome=outcome)

    page = signed_in.get(f"/runs/{run.pk}/").content.decode()

    positions = [page.index(f'hx-get="/runs/{run.pk}/attempts/format/{n}/"') for n in (3, 2, 1)]
    assert positions == sorted(positions)


@pytest.mark.parametrize("path", PARTS[4:])
def test_an_unknown_attempt_is_not_found(signed_in: Client, path: str) -> None:
    """An unknown attempt of a run is a 404 in every part."""
    run = make_finished_run(make_endpoint())

    assert signed_in.get(f"/runs/{run.pk}/{path}").status_code == 404


@pytest.mark.parametrize("path", ["0/raw/", "2/raw/", "0/chunks/", "99999999999999999999/chunks/"])
def test_an_unknown_exchange_is_not_found(signed_in: Client, path: str) -> None:
    """The number of an exchange that does not exist is a 404."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, evidence={"exchanges": [EXCHANGE], "findings": []})

    assert signed_in.get(f"/runs/{run.pk}/attempts/format/1/{path}").status_code == 404


def test_results_can_be_filtered_by_outcome(signed_in: Client) -> None:
    """The query string selects an outcome, and the counts still cover all attempts."""
    run = make_finished_run(make_endpoint())
    for trial, outcome in enumerate(("pass", "void", "fail"), 1):
        make_attempt(run, trial=trial, outcome=outcome)

    page = signed_in.get(f"/runs/{run.pk}/?outcome=fail")

    assert_contains(page, 'id="attempt-format-3"')
    assert_not_contains(page, 'id="attempt-format-1"')
    assert_contains(page, "All 3")
    assert_contains(page, "1 of 2 passed, 1 void")
    assert_contains(page, f'hx-get="/runs/{run.pk}/attempts/?outcome=fail"')


def test_probes_are_grouped(signed_in: Client) -> None:
    """Schema probes have one heading with their own counts; void attempts are no trials."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, probe="schema_types")
    make_attempt(run, probe="schema_union", outcome="fail")
    make_attempt(run, probe="hostile_text", outcome="void")
    make_attempt(run, probe="retired_probe")

    page = signed_in.get(f"/runs/{run.pk}/")

    assert_contains(page, '<h3 id="group-schema">Schema</h3>')
    assert_contains(page, "1 of 2 passed, 1 void")
    assert_contains(page, "Other probes")


def test_the_title_has_the_result_of_the_run(signed_in: Client) -> None:
    """The title of the page states how the run ended."""
    endpoint = make_endpoint()
    titles = {
        "Run {}: 2 of 5 attempts failed": make_finished_run(endpoint, passed=3, failed=2),
        "Run {}: all 5 attempts passed": make_finished_run(endpoint),
        "Run {} came to no verdict": make_finished_run(endpoint, passed=0, void=5),
        "Run {} is under way": make_run(endpoint),
    }

    for title, run in titles.items():
        assert_contains(signed_in.get(f"/runs/{run.pk}/"), f"<h1>{title.format(run.pk)}</h1>")


def test_a_run_links_to_its_neighbours(signed_in: Client) -> None:
    """The page links to the previous and the next run of the same endpoint."""
    endpoint = make_endpoint()
    first = make_finished_run(endpoint)
    make_finished_run(make_endpoint(slug="other"))
    second, third = make_finished_run(endpoint), make_finished_run(endpoint)

    page = signed_in.get(f"/runs/{second.pk}/")

    assert_contains(page, f'rel="prev" href="/runs/{first.pk}/"')
    assert_contains(page, f'rel="next" href="/runs/{third.pk}/"')


def test_progress_shows_steps_tokens_and_remaining_time(signed_in: Client) -> None:
    """An active run shows its current steps, tokens used, and the estimated time left."""
    begun = timezone.now() - timedelta(seconds=30)
    leased = {"lease_expires_at": timezone.now(), "slot": 1, "started_at": begun}
    run = make_run(make_endpoint(), state="running", planned=12, **leased)
    for trial in (1, 2, 3):
        make_attempt(run, trial=trial, input_tokens=1000, output_tokens=200)

    page = signed_in.get(f"/runs/{run.pk}/progress/?steps=1")

    assert_contains(page, "3 of 12 attempts")
    assert_contains(page, "3,600 tokens")
    assert_contains(page, "about 1 min left")
    assert_contains(page, 'class="step done"', count=1)
    assert_contains(page, 'class="step now"', count=2)
    again = signed_in.get(f"/runs/{run.pk}/progress/?steps=1&seen={run.pk}-running-3")
    assert again.status_code == 204


def test_queries_do_not_grow_with_the_attempts(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The number of queries does not depend on the number of attempts."""
    run = make_finished_run(make_endpoint())
    for trial in range(1, 41):
        make_attempt(run, trial=trial, outcome="fail")

    # Includes the roles of the user and the team of the run.
    with django_assert_num_queries(8):
        signed_in.get(f"/runs/{run.pk}/")


def test_every_probe_has_a_group_and_its_question(db: None) -> None:
    """The questions on pages are those of the suite."""
    assert {name: probe_question(name) for name in PROBES} == {
        name: probe.question for name, probe in PROBES.items()
    }
    assert all(probe_group(name).code != OTHER for name in PROBES)
