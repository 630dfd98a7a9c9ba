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
    """A run shows what each attempt came to, and why."""
    run = make_finished_run(make_endpoint(), passed=1, failed=1)
    make_attempt(run, trial=1)
    found = {"kind": "wrong_value", "message": "The tag is gamma.", "path": "$.tag"}
    make_attempt(run, trial=2, outcome="fail", findings=[found])

    page = signed_in.get(f"/runs/{run.pk}/")

    assert_contains(page, "The tag is gamma.")
    assert_contains(page, "wrong_value")
    assert_contains(page, "1 of 2 passed")
    assert_contains(page, "Asked in plain words for one tool call, does the model make it?")
    assert_contains(page, f'hx-get="/runs/{run.pk}/attempts/format/2/"')


def test_evidence_is_inert(signed_in: Client) -> None:
    """Markup of a model is text, and its invisible characters are seen."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, evidence={"exchanges": [EXCHANGE, EXCHANGE], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/", headers={"HX-Request": "true"})

    assert_not_contains(page, "<html")
    assert_not_contains(page, "<script")
    assert_not_contains(page, "<img")
    assert_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;⟦U+202E⟧⟦U+200B⟧␛]8;;http://x␇")
    assert_contains(page, "hello")


def test_every_exchange_of_an_attempt_is_shown_in_order(signed_in: Client) -> None:
    """A script asks several times; each question stands under its own heading."""
    run = make_finished_run(make_endpoint())
    first = {**EXCHANGE, "label": "asked"}
    second = {**EXCHANGE, "label": "with the result", "reply": None, "error": "Timed out."}
    make_attempt(run, evidence={"exchanges": [first, second], "findings": []})

    page = signed_in.get(f"/runs/{run.pk}/attempts/format/1/")

    text = page.content.decode()
    assert text.index(">asked<") < text.index(">with the result<")
    assert_contains(page, "Timed out.")
    assert_contains(page, "No reply arrived.")


def test_hostile_findings_are_inert_on_every_page(signed_in: Client) -> None:
    """What a model wrote into a finding runs nowhere."""
    run = make_finished_run(make_endpoint(), passed=0, failed=1)
    finding = {"kind": "wrong_value", "message": HOSTILE, "path": ""}
    make_attempt(run, outcome="fail", findings=[finding])

    for path in (f"/runs/{run.pk}/", "/endpoints/steady/"):
        page = signed_in.get(path)
        assert_not_contains(page, "<script>alert")
        assert_not_contains(page, "\u202e")


def test_evidence_that_is_gone_is_said_to_be(signed_in: Client) -> None:
    """Attempts outlive their evidence."""
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

    places = [page.index(f'hx-get="/runs/{run.pk}/attempts/format/{n}/"') for n in (3, 2, 1)]
    assert places == sorted(places)


@pytest.mark.parametrize("path", PARTS[4:])
def test_an_unknown_attempt_is_not_found(signed_in: Client, path: str) -> None:
    """A run does not lend its attempts to other names."""
    run = make_finished_run(make_endpoint())

    assert signed_in.get(f"/runs/{run.pk}/{path}").status_code == 404


@pytest.mark.parametrize("path", ["0/raw/", "2/raw/", "0/chunks/", "99999999999999999999/chunks/"])
def test_an_unknown_exchange_is_not_found(signed_in: Client, path: str) -> None:
    """An attempt has as many exchanges as it has."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, evidence={"exchanges": [EXCHANGE], "findings": []})

    assert signed_in.get(f"/runs/{run.pk}/attempts/format/1/{path}").status_code == 404


def test_results_can_be_filtered_by_outcome(signed_in: Client) -> None:
    """The address says which outcome is shown, and the counts stay those of all."""
    run = make_finished_run(make_endpoint())
    for trial, outcome in enumerate(("pass", "void", "fail"), 1):
        make_attempt(run, trial=trial, outcome=outcome)

    page = signed_in.get(f"/runs/{run.pk}/?outcome=fail")

    assert_contains(page, 'id="attempt-format-3"')
    assert_not_contains(page, 'id="attempt-format-1"')
    assert_contains(page, "All 3")
    assert_contains(page, "1 of 2 passed, 1 void")
    assert_contains(page, f'hx-get="/runs/{run.pk}/attempts/?outcome=fail"')


def test_probes_stand_in_their_groups(signed_in: Client) -> None:
    """Schema probes are together under one heading with their own counts; void is no trial."""
    run = make_finished_run(make_endpoint())
    make_attempt(run, probe="schema_types")
    make_attempt(run, probe="schema_union", outcome="fail")
    make_attempt(run, probe="hostile_text", outcome="void")
    make_attempt(run, probe="retired_probe")

    page = signed_in.get(f"/runs/{run.pk}/")

    assert_contains(page, '<h3 id="group-schema">Schema</h3>')
    assert_contains(page, "1 of 2 passed, 1 void")
    assert_contains(page, "Other probes")


def test_the_title_says_what_the_run_found(signed_in: Client) -> None:
    """Nobody has to add up to know how a run ended."""
    endpoint = make_endpoint()
    titles = {
        "Run {}: 2 of 5 attempts failed": make_finished_run(endpoint, passed=3, failed=2),
        "Run {}: all 5 attempts passed": make_finished_run(endpoint),
        "Run {} came to no verdict": make_finished_run(endpoint, passed=0, void=5),
        "Run {} is under way": make_run(endpoint),
    }

    for title, run in titles.items():
        assert_contains(signed_in.get(f"/runs/{run.pk}/"), f"<h1>{title.format(run.pk)}</h1>")


def test_runs_lead_to_their_neighbours(signed_in: Client) -> None:
    """The previous and the next run of the same endpoint are one click away."""
    endpoint = make_endpoint()
    first = make_finished_run(endpoint)
    make_finished_run(make_endpoint(slug="other"))
    second, third = make_finished_run(endpoint), make_finished_run(endpoint)

    page = signed_in.get(f"/runs/{second.pk}/")

    assert_contains(page, f'rel="prev" href="/runs/{first.pk}/"')
    assert_contains(page, f'rel="next" href="/runs/{third.pk}/"')


def test_progress_names_steps_tokens_and_the_time_left(signed_in: Client) -> None:
    """A run under way says what is asked now, what it used, and how long it will take."""
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


def test_a_run_costs_as_many_queries_as_a_long_one(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The page does not ask once for each attempt."""
    run = make_finished_run(make_endpoint())
    for trial in range(1, 41):
        make_attempt(run, trial=trial, outcome="fail")

    # With the roles of whoever asks, and the team of the run.
    with django_assert_num_queries(8):
        signed_in.get(f"/runs/{run.pk}/")


def test_every_probe_has_a_group_and_its_question(db: None) -> None:
    """What pages ask in words is what the suite asks."""
    assert {name: probe_question(name) for name in PROBES} == {
        name: probe.question for name, probe in PROBES.items()
    }
    assert all(probe_group(name).code != OTHER for name in PROBES)
