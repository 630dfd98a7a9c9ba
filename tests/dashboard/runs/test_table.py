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

FILTER_HEADERS = {"HX-Request": "true", "HX-Trigger": "runs-filter"}


def test_figures_have_their_denominators(signed_in: Client) -> None:
    """Passed and void have denominators, tokens are shown, and unknown figures are not zero."""
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
def test_filters_are_in_the_query_string(signed_in: Client, query: str, count: int) -> None:
    """The query string filters the table; invalid values are ignored."""
    endpoint = make_endpoint()
    make_finished_run(endpoint, suite="full")
    make_finished_run(endpoint, trigger="manual")
    make_finished_run(endpoint, failed=2)
    make_finished_run(endpoint, passed=0, void=1)
    make_run(endpoint)

    page = signed_in.get(f"/endpoints/steady/?{query}")

    assert len(page.context["runs"].runs) == count


def test_an_empty_result_links_to_all_runs(signed_in: Client) -> None:
    """A filter without matches shows a link to all runs."""
    make_finished_run(make_endpoint())

    page = signed_in.get("/endpoints/steady/?suite=full&metric=leak")

    assert_contains(page, "No run is like that.")
    assert_contains(page, 'id="runs-all" href="/endpoints/steady/?metric=leak#runs-part"')


def test_filtering_keeps_the_other_parameters_of_the_page(signed_in: Client) -> None:
    """The pushed URL keeps the parameters of the chart, and only the table is rendered."""
    make_finished_run(make_endpoint())
    current_url = {"HX-Current-URL": "http://testserver/endpoints/steady/?metric=leak&suite=light"}

    part = signed_in.get(
        "/endpoints/steady/runs/?suite=full", headers={**FILTER_HEADERS, **current_url}
    )

    assert part.headers["HX-Push-Url"] == "/endpoints/steady/?metric=leak&suite=full"
    assert_not_contains(part, "hx-swap-oob")
    assert_not_contains(part, "<html")


@pytest.mark.parametrize(
    "current_url", ["http://[?x=%0d%0aA:%20b", '?x="><script>', "nonsense", ""]
)
def test_a_forged_current_url_is_harmless(signed_in: Client, current_url: str) -> None:
    """For any HX-Current-URL header, the pushed URL stays on the endpoint page."""
    make_finished_run(make_endpoint())

    part = signed_in.get(
        "/endpoints/steady/runs/", headers={**FILTER_HEADERS, "HX-Current-URL": current_url}
    )

    assert part.headers["HX-Push-Url"].startswith("/endpoints/steady/")
    assert "\n" not in part.headers["HX-Push-Url"]
    assert_not_contains(part, "<script>")


def test_the_end_of_a_run_refreshes_the_whole_page(signed_in: Client) -> None:
    """Findings, capabilities, metrics and changes are swapped too, and the filter stays."""
    make_finished_run(make_endpoint())

    part = signed_in.get("/endpoints/steady/runs/?suite=light", headers={"HX-Request": "true"})

    for name in ("open-incidents", "capabilities", "watched", "changes", "next-run"):
        assert_contains(part, f'id="{name}"', count=1)
    assert_contains(part, 'hx-get="/endpoints/steady/runs/?suite=light"')
    assert "HX-Push-Url" not in part.headers


@pytest.mark.django_db
def test_paging_goes_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older, then newer, shows the same runs again; the first and last page have no link."""
    monkeypatch.setattr("dashboard.runs.table.PAGE_SIZE", 2)
    endpoint = make_endpoint()
    ids = [make_finished_run(endpoint).pk for _ in range(5)][::-1]

    first = _read_table(endpoint, "")
    second = _read_table(endpoint, first.older)
    third = _read_table(endpoint, second.older)
    back = _read_table(endpoint, third.newer)

    assert [_run_ids(table) for table in (first, second, third, back)] == [
        ids[:2],
        ids[2:4],
        ids[4:],
        ids[2:4],
    ]
    assert (first.newer, third.older) == ("", "")
    assert _read_table(endpoint, back.newer).newer == ""


def test_queries_do_not_grow_with_the_runs(signed_in: Client) -> None:
    """The page of an endpoint needs as many queries for forty runs as for two."""
    endpoint = make_endpoint()
    make_finished_run(endpoint)
    run = make_finished_run(endpoint)
    few = _count_queries(signed_in)
    same = {"endpoint": endpoint, "profile": endpoint.profile, "key_epoch": 1, "trigger": "ttl"}
    fields = {"seed": 1, "suite": "light", "suite_version": "v", "planned": 1, "state": "finished"}
    Run.objects.bulk_create(
        Run(due_at=run.due_at, seq=n, finished_at=run.finished_at, **same, **fields)
        for n in range(1, 40)
    )

    assert _count_queries(signed_in) == few


def _count_queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as captured:
        client.get("/endpoints/steady/")
    return len(captured)


def _read_table(endpoint: Endpoint, query: str) -> runs_table.RunTable:
    form = RunFilterForm(QueryDict(query.removeprefix("?")))
    return runs_table.read_run_table(endpoint, RunFilter(**form.read()))


def _run_ids(table: runs_table.RunTable) -> list[int]:
    return [run.pk for run in table.runs]
