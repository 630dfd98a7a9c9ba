from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from dashboard.models import Run
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint

PUBLIC = Client()


@pytest.mark.parametrize(
    "path", ["/nothing", "/endpoints/", "/endpoints/steady/", "/", "/runs/x", "/runs/-1", "/a/b/c"]
)
def test_an_unknown_address_is_json_too(path: str) -> None:
    """Under /api/v1/ nothing answers with a page or a redirect."""
    answer = Client().get(f"/api/v1{path}")

    assert answer.status_code == 404
    assert read_error(answer)["code"] == "not_found"


def test_a_wrong_method_names_the_right_ones(api: ApiClient) -> None:
    """405 lists the allowed methods."""
    answer = api.send("PUT", "/endpoints", {})

    assert (answer.status_code, read_error(answer)["code"]) == (405, "method_not_allowed")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "POST"}


def test_a_wrong_method_on_an_asynchronous_view_is_the_same(api: ApiClient) -> None:
    """The event stream answers problem+json too."""
    answer = api.post("/runs/1/events", {})

    assert (answer.status_code, read_error(answer)["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "at line 1 column 1"),
        (b'{"suite": NaN}', "at line 1 column 11"),
        (b'{"suite": "\xff"}', "invalid unicode"),
        (b"[" * 5000, "recursion limit"),
        (b'{"suite": "\\ud83d"}', "hex escape"),
        (b"9" * 5000, "out of range"),
        (b"  ", "EOF"),
    ],
    ids=["cut off", "NaN", "not UTF-8", "deep", "half a pair", "long number", "blank"],
)
def test_a_body_that_is_no_json_is_malformed(api: ApiClient, body: bytes, message: str) -> None:
    """400 says where the body is malformed, and nothing happens."""
    make_endpoint()

    answer = api.post("/endpoints/steady/runs", body)

    assert (answer.status_code, read_error(answer)["code"]) == (400, "malformed")
    assert message in read_error(answer)["detail"]
    assert not Run.objects.exists()


def test_a_missing_body_is_named(api: ApiClient) -> None:
    """A missing body is a client error, not a server error."""
    make_endpoint()

    answer = api.post("/endpoints/steady/runs")

    assert answer.status_code == 422
    assert read_error(answer)["detail"] == "The body: This field is required."


@pytest.mark.parametrize("body", [b"[]", b"1", b'"x"', b"null"])
def test_a_body_of_another_kind_is_invalid(api: ApiClient, body: bytes) -> None:
    """JSON that is not an object is refused with its location."""
    make_endpoint()

    assert api.post("/endpoints/steady/runs", body).status_code == 422


def test_a_body_over_the_limit_is_too_large(api: ApiClient, settings: Settings) -> None:
    """The message names the limit; a body of exactly that size is accepted."""
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    make_endpoint()

    over = api.post("/endpoints/steady/runs", b'{"suite": "light"}'.ljust(1001))
    just = api.post("/endpoints/steady/runs", b'{"suite": "light"}'.ljust(1000))

    assert (over.status_code, read_error(over)["code"]) == (413, "too_large")
    assert "1,000 bytes" in read_error(over)["detail"]
    assert just.status_code == 202


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"state": "lost"}, "state"),
        ({"cursor": "9" * 30}, "cursor"),
    ],
    ids=str,
)
def test_a_bad_query_names_its_field(api: ApiClient, query: dict[str, str], field: str) -> None:
    """The query string is validated like the body."""
    make_endpoint()

    answer = api.get("/endpoints/steady/runs", **query)

    assert answer.status_code == 422
    assert [detail["field"] for detail in read_error(answer)["errors"]] == [field]


def test_every_kind_of_error_is_explained(api: ApiClient) -> None:
    """The `type` of an error is a public URL that says what to do."""
    kinds = PUBLIC.get("/api/v1/problems").json()["problems"]

    assert {kind["code"] for kind in kinds} >= {"not_found", "invalid", "rate_limited"}
    for kind in kinds:
        assert PUBLIC.get(kind["type"]).json() == kind
    assert PUBLIC.get("/api/v1/problems/unheard_of").status_code == 404


def test_numbers_that_no_row_can_have_find_nothing(api: ApiClient) -> None:
    """An id beyond the column's range answers 404, not 500."""
    assert api.get(f"/runs/{10**40}").status_code in {404, 422}
    assert api.get("/runs/1/attempts/format/99999999999/evidence").status_code in {404, 422}


def test_our_own_fault_is_json_and_tells_nothing_of_the_inside(api: ApiClient) -> None:
    """An unexpected exception is a 500 as problem+json, without its message."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE dashboard_endpoint RENAME TO somewhere_else")

    answer = api.get("/endpoints")

    assert (answer.status_code, read_error(answer)["code"]) == (500, "internal")
    assert "dashboard_endpoint" not in answer.content.decode()
