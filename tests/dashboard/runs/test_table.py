from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.models import Endpoint, Run
from dashboard.runs import table as runs_table
from dashboard.runs.table import RunFilter, RunFilterForm
from tests.factories import make_endpoint, make_finished_run, make_run
from tests.markup import assert_contains, assert_not_contains

TURN = {"HX-Request": "true", "HX-Trigger": "runs-filter"}


def test_figures_have_their_denominators(signed_in: Client) -> None:
    """Passed and void are of so many; tokens are there, and what is not known is no nought."""
    endpoint = make_endpoint()
    figures: dict[str, Any] = {"input_tokens": 1200, "output_tokens": 34, "requests": 9}
    make_finished_run(endpoint, passed=4, failed=1, void=2, **figures)
    make_finished_run(endpoint, passed=0, void=3)

    page = signed_in.get("/endpoints/steady/")

    assert_contains(page, "4 of 5")
    assert_contains(page, "2 of 7")
    assert_contains(page, "1,200 sent and 34 received, in 9 requests")
    assert_contains(page, "1,234")
    assert_contains(page, "no verdict")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("suite=full", 1),
        ("trigger=manual", 1),
        ("outcome=failures", 1),
        ("outcome=clean", 2),
        ("outcome=no_verdict", 1),
        ("outcome=active", 1),
        ("outcome=stopped", 0),
        ("suite=full&outcome=failures", 0),
        ("suite=nonsense&before=-1&after=٣", 5),
    ],
)
def test_filters_are_in_the_address(signed_in: Client, query: str, count: int) -> None:
    """A filtered table can be linked to; a filter that makes no sense is ignored."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, suite="full")
    make_finished_run(endpoint, trigger="manual")
    make_finished_run(endpoint, failed=2)
    make_finished_run(endpoint, passed=0, void=1)
    make_run(endpoint)

    page = signed_in.get(f"/endpoints/steady/?{query}")

    assert len(page.context["runs"].runs) == count


def test_no_run_like_that_leads_back(signed_in: Client) -> None:
    """An empty filter is no dead end."""
    make_finished_run(make_endpoint())

    page = signed_in.get("/endpoints/steady/?suite=full&metric=leak")

    assert_contains(page, "No run is like that.")
    assert_contains(page, 'id="runs-all" href="/endpoints/steady/?metric=leak#runs-part"')


def test_turning_keeps_what_else_the_page_asks_for(signed_in: Client) -> None:
    """The address after a turn has the chart's wishes and the table's, and only the table comes."""
    make_finished_run(make_endpoint())
    around = {"HX-Current-URL": "http://testserver/endpoints/steady/?metric=leak&suite=light"}

    part = signed_in.get("/endpoints/steady/runs/?suite=full", headers={**TURN, **around})

    assert part.headers["HX-Push-Url"] == "/endpoints/steady/?metric=leak&suite=full"
    assert_not_contains(part, "hx-swap-oob")
    assert_not_contains(part, "<html")


@pytest.mark.parametrize("around", ["http://[?x=%0d%0aA:%20b", '?x="><script>', "nonsense", ""])
def test_a_forged_address_of_the_page_is_inert(signed_in: Client, around: str) -> None:
    """Whatever a client says its page is, the answer stays on ours."""
    make_finished_run(make_endpoint())

    part = signed_in.get("/endpoints/steady/runs/", headers={**TURN, "HX-Current-URL": around})

    assert part.headers["HX-Push-Url"].startswith("/endpoints/steady/")
    assert "\n" not in part.headers["HX-Push-Url"]
    assert_not_contains(part, "<script>")


def test_the_end_of_a_run_refreshes_the_page_around(signed_in: Client) -> None:
    """Findings, capabilities, metrics and changes come along, and the filter stays."""
    make_finished_run(make_endpoint())

    part = signed_in.get("/endpoints/steady/runs/?suite=light", headers={"HX-Request": "true"})

    for name in ("open-incidents", "capabilities", "watched", "changes", "next-run"):
        assert_contains(part, f'id="{name}"', count=1)
    assert_contains(part, 'hx-get="/endpoints/steady/runs/?suite=light"')
    assert "HX-Push-Url" not in part.headers


@pytest.mark.django_db
def test_pages_lead_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older, then newer, shows the same runs again; the ends have no way on."""
    monkeypatch.setattr("dashboard.runs.table.PAGE_SIZE", 2)
    endpoint = make_endpoint()
    ids = [make_finished_run(endpoint).pk for _ in range(5)][::-1]

    first = _turned(endpoint, "")
    second = _turned(endpoint, first.older)
    third = _turned(endpoint, second.older)
    back = _turned(endpoint, third.newer)

    assert [_ids(table) for table in (first, second, third, back)] == [
        ids[:2],
        ids[2:4],
        ids[4:],
        ids[2:4],
    ]
    assert (first.newer, third.older) == ("", "")
    assert _turned(endpoint, back.newer).newer == ""


def test_queries_do_not_grow_with_the_past(signed_in: Client) -> None:
    """The page of an endpoint costs as many queries for forty runs as for two."""
    endpoint = make_endpoint()
    make_finished_run(endpoint)
    run = make_finished_run(endpoint)
    few = _queries(signed_in)
    same = {"endpoint": endpoint, "profile": endpoint.profile, "key_epoch": 1, "trigger": "ttl"}
    made = {"seed": 1, "suite": "light", "suite_version": "v", "planned": 1, "state": "finished"}
    Run.objects.bulk_create(
        Run(due_at=run.due_at, seq=n, finished_at=run.finished_at, **same, **made)
        for n in range(1, 40)
    )

    assert _queries(signed_in) == few


def _queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as counted:
        client.get("/endpoints/steady/")
    return len(counted)


def _turned(endpoint: Endpoint, query: str) -> runs_table.RunTable:
    form = RunFilterForm(QueryDict(query.removeprefix("?")))
    return runs_table.read_run_table(endpoint, RunFilter(**form.read()))


def _ids(table: runs_table.RunTable) -> list[int]:
    return [run.pk for run in table.runs]
