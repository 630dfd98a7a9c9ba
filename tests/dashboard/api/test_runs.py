from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from dashboard.models import Run
from dashboard.models.run import Trigger
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_attempt, make_endpoint, make_finished_run, make_run

EVIDENCE = {
    "exchanges": [
        {"label": "ü", "reply": {"chunks": [{"text": "</script>"}]}, "calls": [{"raw": "\ud800"}]}
    ]
}


def test_a_run_is_asked_for(api: ApiClient) -> None:
    """202 with the queued run, as requested and in the name of the token's owner."""
    make_endpoint()

    answer = api.post("/endpoints/steady/runs", {"suite": "full"})

    run = Run.objects.get()
    assert answer.status_code == 202
    assert (run.trigger, run.suite, run.requested_by) == (
        Trigger.API,
        "full",
        api.token.created_by,
    )
    assert answer.json()["id"] == run.pk
    assert (answer.json()["state"], answer.json()["requested_by"]) == ("queued", "alice")


def test_a_second_wish_gets_the_run_that_is_under_way(api: ApiClient) -> None:
    """200 with the same run: an endpoint has one run at a time."""
    make_endpoint()
    first = api.post("/endpoints/steady/runs", {}).json()

    answer = api.post("/endpoints/steady/runs", {})

    assert (answer.status_code, answer.json()["id"]) == (200, first["id"])
    assert Run.objects.count() == 1


def test_an_unknown_suite_is_refused(api: ApiClient) -> None:
    """The message lists the suites."""
    make_endpoint()

    answer = api.post("/endpoints/steady/runs", {"suite": "huge"})

    assert answer.status_code == 422
    assert "'light' or 'full'" in read_error(answer)["errors"][0]["message"]


def test_a_run_tells_how_far_it_is(api: ApiClient) -> None:
    """Progress is attempts stored out of attempts planned."""
    run = make_run(make_endpoint(), planned=35, done=12)

    assert api.get(f"/runs/{run.pk}").json()["progress"] == {"done": 12, "planned": 35}


def test_a_run_is_cancelled_once(api: ApiClient) -> None:
    """The run is abandoned with the reason; a second request gets a conflict."""
    run = make_run(make_endpoint())

    first = api.post(f"/runs/{run.pk}/cancel")
    second = api.post(f"/runs/{run.pk}/cancel")

    assert (first.status_code, first.json()["state"]) == (200, "abandoned")
    assert first.json()["reason"] == "cancelled by the API token a script"
    assert (second.status_code, read_error(second)["code"]) == (409, "conflict")


def test_runs_are_listed_newest_first_page_by_page(api: ApiClient) -> None:
    """Pages follow each other by id without gaps or repetitions."""
    endpoint = make_endpoint()
    ids = [make_finished_run(endpoint, seq=number).pk for number in range(5)]
    make_finished_run(make_endpoint(slug="other"))

    listed, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = api.get("/endpoints/steady/runs", **query).json()
        listed += [run["id"] for run in page["runs"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert listed == sorted(ids, reverse=True)


def test_runs_are_listed_by_state(api: ApiClient) -> None:
    """Only runs in the requested state."""
    endpoint = make_endpoint()
    make_finished_run(endpoint)
    queued = make_run(endpoint, seq=1)

    page = api.get("/endpoints/steady/runs", state="queued").json()

    assert [run["id"] for run in page["runs"]] == [queued.pk]


def test_a_list_of_runs_costs_the_same_for_any_number(
    api: ApiClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The token, roles, the endpoint's team, the endpoint, the runs: five queries."""
    endpoint = make_endpoint()
    for number in range(5):
        make_finished_run(endpoint, seq=number, requested_by=api.token.created_by)
    api.get("/endpoints")  # the first use of the token is noted

    with django_assert_num_queries(5):
        api.get("/endpoints/steady/runs")


def test_attempts_are_listed(api: ApiClient) -> None:
    """Each attempt with its outcome, findings and figures."""
    run = make_run(make_endpoint())
    finding = {"kind": "leak", "message": "The call came as text.", "path": ""}
    make_attempt(run, trial=2, outcome="fail", findings=[finding])
    make_attempt(run, trial=1, evidence=EVIDENCE)

    attempts = api.get(f"/runs/{run.pk}/attempts").json()["attempts"]

    assert [(a["probe"], a["trial"], a["outcome"]) for a in attempts] == [
        ("format", 1, "pass"),
        ("format", 2, "fail"),
    ]
    assert attempts[1]["findings"] == [finding]
    assert [a["has_evidence"] for a in attempts] == [True, False]


def test_evidence_comes_as_it_was_stored(api: ApiClient) -> None:
    """Evidence is returned as the stored JSON."""
    run = make_run(make_endpoint())
    make_attempt(run, evidence=EVIDENCE)

    answer = api.get(f"/runs/{run.pk}/attempts/format/1/evidence")

    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json() == EVIDENCE


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("format/1/evidence", "no longer kept"),
        ("format/2/evidence", "no such attempt"),
        ("nul%00/1/evidence", ""),
    ],
)
def test_evidence_that_is_not_there_is_told_apart(api: ApiClient, path: str, message: str) -> None:
    """Expired evidence and an unknown attempt have different errors."""
    run = make_run(make_endpoint())
    make_attempt(run, evidence_sha256=b"x" * 32)

    answer = api.get(f"/runs/{run.pk}/attempts/{path}")

    assert answer.status_code in {404, 422}
    assert message in read_error(answer)["detail"]


def test_a_run_of_a_removed_endpoint_is_gone(api: ApiClient) -> None:
    """Like the pages, the API does not show runs of removed endpoints."""
    run = make_finished_run(make_endpoint())
    api.delete("/endpoints/steady")

    for path in ("", "/attempts", "/metrics", "/events"):
        assert api.get(f"/runs/{run.pk}{path}").status_code == 404
