from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from dashboard.models import Credential, Endpoint
from probes.secret import Secret
from tests.dashboard.api.client import ApiClient, read_error
from tests.factories import make_endpoint

GOOD: dict[str, Any] = {
    "slug": "new-one",
    "provider": "openai",
    "base_url": "https://Host.example:443/v1/",
    "model": "m",
    "options": {"temperature": 0},
}
KEY = "sk-abcdefghijklmnop"


def test_an_endpoint_is_registered_with_the_defaults_of_the_form(api: ApiClient) -> None:
    """Missing fields get the form's defaults, and the base URL is normalised."""
    answer = api.post("/endpoints", GOOD)

    assert answer.status_code == 201
    endpoint = Endpoint.objects.get()
    assert endpoint.base_url == answer.json()["base_url"] == "https://host.example/v1"
    assert (endpoint.ttl, endpoint.max_concurrency) == (timedelta(hours=6), 4)
    assert (endpoint.enabled, endpoint.options) == (True, {"temperature": 0})


def test_a_key_goes_in_and_never_comes_out(api: ApiClient) -> None:
    """Responses show that a key is stored and its last characters, nothing else."""
    created = api.post("/endpoints", {**GOOD, "key": KEY})
    read = api.get("/endpoints/new-one")
    listed = api.get("/endpoints")

    assert read.json()["key"] == {"stored": True, "hint": "mnop"}
    assert all(KEY not in answer.content.decode() for answer in (created, read, listed))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("slug", "../etc", "Use lower-case letters"),
        ("slug", "new", "is a page of its own"),
        ("slug", "nul\0", "Null characters are not allowed"),
        ("slug", None, "This field is required"),
        ("base_url", "javascript:alert(1)", "must begin with http:// or https://"),
        ("model", "nul\0", "Null characters are not allowed"),
        ("provider", "nobody", "There is no provider"),
        ("ttl", "soon", "Write a number and a unit"),
        ("max_concurrency", 0, "greater than or equal to 1"),
        ("max_concurrency", "4", "valid integer"),
        ("enabled", "yes", "valid boolean"),
        ("dialect", "acme", "There is no dialect"),
        ("dialect", "minimax_anthropic", "does not fit the provider"),
        ("chat_template_hash", "{{ bos }}", "64 hexadecimal digits"),
        ("chat_template_hash", "a" * 63, "64 hexadecimal digits"),
        ("options", {"messages": []}, "is set by the probe"),
        ("options", {"a": "\0"}, "NUL"),
        ("options", [], "valid dictionary"),
        ("key", "two words", "no HTTP header can carry"),
        ("colour", "red", "There is no such field"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_input_names_its_field_and_what_to_do(
    api: ApiClient, field: str, value: Any, message: str
) -> None:
    """The rules are those of the form in the pages, and nothing is stored."""
    answer = api.post("/endpoints", {**GOOD, field: value})

    assert answer.status_code == 422
    error = read_error(answer)
    assert [detail["field"] for detail in error["errors"]] == [field]
    assert message in error["errors"][0]["message"]
    assert not Endpoint.objects.exists()


def test_a_taken_name_is_refused(api: ApiClient) -> None:
    """Two endpoints cannot share a name."""
    make_endpoint(slug="new-one")

    answer = api.post("/endpoints", GOOD)

    assert answer.status_code == 422
    assert "There is already an endpoint" in read_error(answer)["detail"]


def test_a_change_leaves_alone_what_it_does_not_name(api: ApiClient) -> None:
    """PATCH changes the given fields, and the stored key stays."""
    make_endpoint(key=Secret(KEY), options={"top_p": 1})
    before = api.get("/endpoints/steady").json()

    answer = api.patch("/endpoints/steady", {"updated_at": before["updated_at"], "ttl": "30m"})

    assert answer.status_code == 200
    changed = answer.json()
    assert (changed["ttl"], changed["options"], changed["key"]) == (
        "30m",
        {"top_p": 1},
        before["key"],
    )
    assert changed["updated_at"] > before["updated_at"]


def test_a_change_on_what_somebody_else_changed_is_a_conflict(api: ApiClient) -> None:
    """Two programs change the same endpoint: the second gets 409 and changes nothing."""
    make_endpoint()
    updated_at = api.get("/endpoints/steady").json()["updated_at"]
    api.patch("/endpoints/steady", {"updated_at": updated_at, "model": "first"})

    answer = api.patch("/endpoints/steady", {"updated_at": updated_at, "model": "second"})

    assert (answer.status_code, read_error(answer)["code"]) == (409, "conflict")
    assert Endpoint.objects.get().model == "first"


def test_a_change_must_say_what_it_has_seen(api: ApiClient) -> None:
    """Without updated_at a change could be overwritten unnoticed."""
    make_endpoint()

    answer = api.patch("/endpoints/steady", {"model": "second"})

    assert read_error(answer)["errors"] == [
        {"field": "updated_at", "message": "This field is required."}
    ]


def test_another_host_wipes_the_key(api: ApiClient) -> None:
    """A key never follows an endpoint to another origin, however it is moved."""
    make_endpoint(key=Secret(KEY))
    updated_at = api.get("/endpoints/steady").json()["updated_at"]

    body = {"updated_at": updated_at, "base_url": "https://other.example/v1"}
    answer = api.patch("/endpoints/steady", body)

    assert answer.json()["key"] == {"stored": False, "hint": ""}
    assert not Credential.objects.exists()


def test_a_key_can_be_forgotten(api: ApiClient) -> None:
    """forget_key deletes the stored key and nothing else."""
    make_endpoint(key=Secret(KEY))
    updated_at = api.get("/endpoints/steady").json()["updated_at"]

    api.patch("/endpoints/steady", {"updated_at": updated_at, "forget_key": True})

    assert not Credential.objects.exists()


def test_a_removed_endpoint_is_gone(api: ApiClient) -> None:
    """After DELETE the endpoint answers 404, also to a second DELETE."""
    make_endpoint()

    assert api.delete("/endpoints/steady").status_code == 204
    assert api.get("/endpoints/steady").status_code == 404
    assert api.delete("/endpoints/steady").status_code == 404


def test_the_list_goes_on_where_the_cursor_says(api: ApiClient) -> None:
    """Pages follow each other by name without gaps or repetitions."""
    for slug in ("c", "a", "b"):
        make_endpoint(slug=slug)

    first = api.get("/endpoints", limit=2).json()
    second = api.get("/endpoints", limit=2, cursor=first["next_cursor"]).json()

    assert [e["slug"] for e in first["endpoints"]] == ["a", "b"]
    assert [e["slug"] for e in second["endpoints"]] == ["c"]
    assert second["next_cursor"] is None


def test_a_list_of_endpoints_costs_the_same_for_any_number(
    api: ApiClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """The token, its owner's roles, the endpoints with their keys' hints: three queries."""
    for slug in ("a", "b", "c"):
        make_endpoint(slug=slug, key=Secret(KEY))
    api.get("/endpoints")  # the first use of the token is noted

    with django_assert_num_queries(3):
        api.get("/endpoints")


def test_budgets_are_given_and_taken_back(api: ApiClient) -> None:
    """A number is a limit; null is none."""
    created = api.post("/endpoints", {**GOOD, "daily_requests": 500}).json()
    body = {"updated_at": created["updated_at"], "daily_requests": None, "daily_tokens": 10**6}
    changed = api.patch("/endpoints/new-one", body).json()

    assert (created["daily_requests"], created["daily_tokens"]) == (500, None)
    assert (changed["daily_requests"], changed["daily_tokens"]) == (None, 10**6)


def test_profiles_tell_every_key_that_there_was(api: ApiClient) -> None:
    """A changed key opens a profile, and the old one stays readable."""
    make_endpoint(model="old")
    updated_at = api.get("/endpoints/steady").json()["updated_at"]
    api.patch("/endpoints/steady", {"updated_at": updated_at, "model": "new"})

    profiles = api.get("/endpoints/steady/profiles").json()["profiles"]

    assert [(p["epoch"], p["key"]["model"], p["stage"]) for p in profiles] == [
        (2, "new", "shadow"),
        (1, "old", "shadow"),
    ]
    assert [p["ended_at"] is None for p in profiles] == [True, False]


def test_tags_go_in_and_come_out(api: ApiClient) -> None:
    """Tags are the same on the pages and in the API."""
    make_endpoint(tags=["old"])
    before = api.get("/endpoints/steady").json()

    changed = api.patch(
        "/endpoints/steady",
        {"updated_at": before["updated_at"], "tags": ["Team:Search", "eu", "eu"]},
    )
    refused = api.patch(
        "/endpoints/steady", {"updated_at": changed.json()["updated_at"], "tags": ["two words"]}
    )

    assert before["tags"] == ["old"]
    assert changed.json()["tags"] == ["eu", "team:search"]
    assert refused.status_code == 422
    assert api.get("/endpoints/steady").json()["tags"] == ["eu", "team:search"]
