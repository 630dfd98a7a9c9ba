from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertRedirects

from dashboard.endpoints import presets
from dashboard.endpoints.presets import PRESETS, Preset
from dashboard.models import Credential, Endpoint
from probes.secret import Secret
from probes.target import Provider, check_base_url
from tests.factories import make_endpoint
from tests.markup import assert_contains, assert_not_contains

GOOD = {
    "slug": "new-one",
    "provider": "openai",
    "base_url": "https://Host.example:443/v1/",
    "model": "m",
    "key": "",
    "ttl": "30m",
    "max_concurrency": "3",
    "options": '{"temperature": 0}',
    "enabled": "on",
}
KEY = "sk-abcdefghijklmnop"


def test_an_endpoint_is_registered(signed_in: Client) -> None:
    """What the form says is what is stored, the base URL in its normal form."""
    answer = signed_in.post("/endpoints/new/", {**GOOD, "key": KEY})

    endpoint = Endpoint.objects.get()
    assertRedirects(answer, "/endpoints/new-one/")
    assert endpoint.base_url == "https://host.example/v1"
    assert (endpoint.ttl, endpoint.options) == (timedelta(minutes=30), {"temperature": 0})
    assert Credential.objects.get().hint == "mnop"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("slug", "<script>alert(1)</script>", "Use lower-case letters"),
        ("slug", "../etc", "Use lower-case letters"),
        ("slug", "new", "is a page of its own"),
        ("slug", "nul\0", "Null characters are not allowed"),
        ("base_url", "javascript:alert(1)", "must begin with http:// or https://"),
        ("base_url", "https://user:pw@host/v1", "must not contain a user name"),
        ("base_url", "https://host/v1?key=1", "must not contain a query"),
        ("provider", "nobody", "There is no provider"),
        ("ttl", "soon", "Write a number and a unit"),
        ("ttl", "1m", "Between 5m and 30d"),
        ("ttl", "31d", "Between 5m and 30d"),
        ("max_concurrency", "0", "greater than or equal to 1"),
        ("options", "{", "This is not JSON"),
        ("options", "[]", "must be a JSON object"),
        ("options", '{"messages": []}', "is set by the probe"),
        ("options", '{"a": NaN}', "NaN is not a JSON number"),
        ("options", '{"a": 1e999}', "too large"),
        ("options", '{"a": "\\u0000"}', "NUL"),
        ("options", '{"a": "\\ud800"}', "surrogate"),
        ("options", '{"a": ' + "[" * 30 + "]" * 30 + "}", "nested too deeply"),
        ("options", "[" * 9000, "nested too deeply"),
        ("options", '{"a": "' + "x" * 10_000 + '"}', "At most 10,000 characters"),
        ("key", "two words", "no HTTP header can carry"),
        ("tags", "ok, <b>", "cannot be a tag"),
        ("tags", ",".join(f"t{n}" for n in range(21)), "At most 20 tags"),
    ],
)
def test_bad_input_is_refused_in_words(
    signed_in: Client, field: str, value: str, message: str
) -> None:
    """Each mistake comes back beside its field, and nothing is stored."""
    page = signed_in.post("/endpoints/new/", {**GOOD, field: value})

    assert_contains(page, message)
    assert_not_contains(page, "<script>alert")
    assert not Endpoint.objects.exists()


def test_a_taken_name_is_refused(signed_in: Client) -> None:
    """Two endpoints cannot share a name."""
    make_endpoint(slug="new-one")

    page = signed_in.post("/endpoints/new/", GOOD)

    assert_contains(page, "There is already an endpoint called")


def test_a_refused_form_does_not_give_the_key_back(signed_in: Client) -> None:
    """A typed key is never written into a page."""
    page = signed_in.post("/endpoints/new/", {**GOOD, "key": KEY, "ttl": "soon"})

    assert_not_contains(page, KEY)


def test_editing_keeps_the_stored_key(signed_in: Client) -> None:
    """An empty key field leaves the key alone, and the page shows only its end."""
    make_endpoint(key=Secret(KEY))
    assert_contains(signed_in.get("/endpoints/steady/edit/"), "stored, ends in <code>…mnop</code>")

    signed_in.post("/endpoints/steady/edit/", _same(model="m-2"))

    assert Endpoint.objects.get().model == "m-2"
    assert Credential.objects.exists()


def test_another_host_wipes_the_key_and_says_so(signed_in: Client) -> None:
    """A key never follows an endpoint to another origin."""
    make_endpoint(key=Secret(KEY))

    form = _same(base_url="http://127.0.0.1:10/v1")
    page = signed_in.post("/endpoints/steady/edit/", form, follow=True)

    assert_contains(page, "The stored API key was deleted")
    assert not Credential.objects.exists()


def test_a_key_can_be_forgotten(signed_in: Client) -> None:
    """The box deletes the key without a warning about a changed host."""
    make_endpoint(key=Secret(KEY))

    page = signed_in.post("/endpoints/steady/edit/", _same(forget_key="on"), follow=True)

    assert_not_contains(page, "was deleted, because")
    assert not Credential.objects.exists()


def test_removing_asks_first(signed_in: Client) -> None:
    """Only the post of the confirmation takes an endpoint out."""
    make_endpoint()

    assert_contains(signed_in.get("/endpoints/steady/remove/"), "Remove steady?")
    assert signed_in.get("/endpoints/steady/").status_code == 200
    signed_in.post("/endpoints/steady/remove/")

    assert signed_in.get("/endpoints/steady/").status_code == 404


def test_a_post_without_a_token_is_refused(person: Any) -> None:
    """A foreign page cannot register endpoints in somebody's name."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)

    page = client.post("/endpoints/new/", GOOD)

    assert_contains(page, "This form is too old", status_code=403)
    assert not Endpoint.objects.exists()


def _same(**over: str) -> dict[str, str]:
    kept = {"slug": "steady", "base_url": "http://127.0.0.1:9/v1", "model": "m-1"}
    return {**GOOD, **kept, **over}


def test_a_form_that_is_out_of_date_is_refused_and_kept(signed_in: Client) -> None:
    """Two people edit at once: the second reads why, and finds what they typed still there."""
    endpoint = make_endpoint(slug="one", model="old")
    endpoint.refresh_from_db()
    form = {**GOOD, "slug": "one", "seen": endpoint.updated_at.isoformat()}
    signed_in.post("/endpoints/one/edit/", {**form, "model": "first"})

    answer = signed_in.post("/endpoints/one/edit/", {**form, "model": "second"})

    assert_contains(answer, "Somebody else changed this endpoint")
    assert_contains(answer, 'value="second"')
    assert Endpoint.objects.get().model == "first"


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_begins_a_form_that_is_right(signed_in: Client, preset: Preset) -> None:
    """Its address is one that the form takes, and its model stays an example."""
    page = signed_in.get(f"/endpoints/new/?preset={preset.name}")

    assert_contains(page, f'value="{preset.base_url}"')
    assert_contains(page, f'<option value="{preset.provider}" selected>')
    assert check_base_url(preset.base_url) == preset.base_url


def test_every_provider_has_an_example(signed_in: Client) -> None:
    """Whichever is chosen, the empty fields show what belongs there."""
    assert presets.examples().keys() == {provider.value for provider in Provider}
    assert_contains(signed_in.get("/endpoints/new/"), 'placeholder="https://api.openai.com/v1"')


@pytest.mark.parametrize("query", ["preset=nobody", "preset=<script>", "preset=ollama&model=<b>"])
def test_a_strange_preset_is_harmless(signed_in: Client, query: str) -> None:
    """An unknown one is as none, and a model is only text."""
    page = signed_in.get(f"/endpoints/new/?{query}")

    assert page.status_code == 200
    assert_not_contains(page, "<script>alert")
    assert_not_contains(page, 'value="<b>')


def test_the_form_needs_a_person(client: Client) -> None:
    """Strangers are sent to sign in."""
    assert client.get("/endpoints/new/").headers["Location"].startswith("/login/")


def test_tags_are_read_with_commas_or_spaces_and_shown_again(signed_in: Client) -> None:
    """However they are typed they are stored once each, and editing keeps them."""
    signed_in.post("/endpoints/new/", {**GOOD, "tags": "Team-A, eu  eu"})

    assert Endpoint.objects.get().tags == ["eu", "team-a"]
    assert_contains(signed_in.get("/endpoints/new-one/edit/"), 'value="eu, team-a"')


@pytest.mark.parametrize(
    ("over", "is_open"), [({}, False), ({"daily_tokens": 9}, True), ({"options": {"a": 1}}, True)]
)
def test_the_folded_part_is_open_where_it_says_something(
    signed_in: Client, over: dict[str, Any], is_open: bool
) -> None:
    """A budget that is set is not hidden; defaults are."""
    make_endpoint(**over)

    page = signed_in.get("/endpoints/steady/edit/").content.decode()

    assert ('<details class="more" open>' in page) is is_open


def test_a_mistake_in_the_folded_part_unfolds_it(signed_in: Client) -> None:
    """Nobody searches for the field that is to be mended."""
    page = signed_in.post("/endpoints/new/", {**GOOD, "options": "{"})

    assert_contains(page, '<details class="more" open>')
