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

VALID = {
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
    """The form values are stored, with a normalised base URL."""
    response = signed_in.post("/endpoints/new/", {**VALID, "key": KEY})

    endpoint = Endpoint.objects.get()
    assertRedirects(response, "/endpoints/new-one/")
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
        ("dialect", "acme", "There is no dialect"),
        ("dialect", "minimax_anthropic", "does not fit the provider"),
        ("chat_template_hash", "{{ bos }}", "64 hexadecimal digits"),
        ("chat_template_hash", "a" * 63, "64 hexadecimal digits"),
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
def test_invalid_input_is_refused_with_a_message(
    signed_in: Client, field: str, value: str, message: str
) -> None:
    """Every error is shown at its field, and nothing is stored."""
    page = signed_in.post("/endpoints/new/", {**VALID, field: value})

    assert_contains(page, message)
    assert_not_contains(page, "<script>alert")
    assert not Endpoint.objects.exists()


def test_a_duplicate_name_is_refused(signed_in: Client) -> None:
    """Two endpoints cannot have the same name."""
    make_endpoint(slug="new-one")

    page = signed_in.post("/endpoints/new/", VALID)

    assert_contains(page, "There is already an endpoint called")


def test_a_refused_form_does_not_contain_the_key(signed_in: Client) -> None:
    """A submitted key is never rendered."""
    page = signed_in.post("/endpoints/new/", {**VALID, "key": KEY, "ttl": "soon"})

    assert_not_contains(page, KEY)


def test_editing_keeps_the_stored_key(signed_in: Client) -> None:
    """An empty key field keeps the stored key; the page shows only its last characters."""
    make_endpoint(key=Secret(KEY))
    assert_contains(signed_in.get("/endpoints/steady/edit/"), "stored, ends in <code>…mnop</code>")

    signed_in.post("/endpoints/steady/edit/", _edit_form(model="m-2"))

    assert Endpoint.objects.get().model == "m-2"
    assert Credential.objects.exists()


def test_another_host_deletes_the_key_with_a_warning(signed_in: Client) -> None:
    """A stored key is never sent to another origin."""
    make_endpoint(key=Secret(KEY))

    form = _edit_form(base_url="http://127.0.0.1:10/v1")
    page = signed_in.post("/endpoints/steady/edit/", form, follow=True)

    assert_contains(page, "The stored API key was deleted")
    assert not Credential.objects.exists()


def test_a_key_can_be_deleted(signed_in: Client) -> None:
    """The checkbox deletes the key without a warning about the host."""
    make_endpoint(key=Secret(KEY))

    page = signed_in.post("/endpoints/steady/edit/", _edit_form(forget_key="on"), follow=True)

    assert_not_contains(page, "was deleted, because")
    assert not Credential.objects.exists()


def test_removing_requires_confirmation(signed_in: Client) -> None:
    """Only the POST of the confirmation removes an endpoint."""
    make_endpoint()

    assert_contains(signed_in.get("/endpoints/steady/remove/"), "Remove steady?")
    assert signed_in.get("/endpoints/steady/").status_code == 200
    signed_in.post("/endpoints/steady/remove/")

    assert signed_in.get("/endpoints/steady/").status_code == 404


def test_a_post_without_a_csrf_token_is_refused(person: Any) -> None:
    """Another site cannot create endpoints as the signed-in user."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)

    page = client.post("/endpoints/new/", VALID)

    assert_contains(page, "This form is too old", status_code=403)
    assert not Endpoint.objects.exists()


def _edit_form(**over: str) -> dict[str, str]:
    values = {"slug": "steady", "base_url": "http://127.0.0.1:9/v1", "model": "m-1"}
    return {**VALID, **values, **over}


def test_an_outdated_form_is_refused_and_kept(signed_in: Client) -> None:
    """The second of two concurrent edits is refused and keeps the typed values."""
    endpoint = make_endpoint(slug="one", model="old")
    endpoint.refresh_from_db()
    form = {**VALID, "slug": "one", "seen": endpoint.updated_at.isoformat()}
    signed_in.post("/endpoints/one/edit/", {**form, "model": "first"})

    response = signed_in.post("/endpoints/one/edit/", {**form, "model": "second"})

    assert_contains(response, "Somebody else changed this endpoint")
    assert_contains(response, 'value="second"')
    assert Endpoint.objects.get().model == "first"


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_fills_a_valid_form(signed_in: Client, preset: Preset) -> None:
    """The base URL of a preset is valid, and its model is only an example."""
    page = signed_in.get(f"/endpoints/new/?preset={preset.name}")

    assert_contains(page, f'value="{preset.base_url}"')
    assert_contains(page, f'<option value="{preset.provider}" selected>')
    assert check_base_url(preset.base_url) == preset.base_url


def test_every_provider_has_an_example(signed_in: Client) -> None:
    """Every provider has placeholders for the empty fields."""
    assert presets.provider_examples().keys() == {provider.value for provider in Provider}
    assert_contains(signed_in.get("/endpoints/new/"), 'placeholder="https://api.openai.com/v1"')


@pytest.mark.parametrize("query", ["preset=nobody", "preset=<script>", "preset=ollama&model=<b>"])
def test_an_unknown_preset_is_ignored(signed_in: Client, query: str) -> None:
    """An unknown preset has no effect, and a model in the query is escaped."""
    page = signed_in.get(f"/endpoints/new/?{query}")

    assert page.status_code == 200
    assert_not_contains(page, "<script>alert")
    assert_not_contains(page, 'value="<b>')


def test_the_form_requires_a_login(client: Client) -> None:
    """Anonymous users are redirected to the login."""
    assert client.get("/endpoints/new/").headers["Location"].startswith("/login/")


def test_tags_are_split_at_commas_and_spaces(signed_in: Client) -> None:
    """Tags are stored once each, and the edit form shows them."""
    signed_in.post("/endpoints/new/", {**VALID, "tags": "Team-A, eu  eu"})

    assert Endpoint.objects.get().tags == ["eu", "team-a"]
    assert_contains(signed_in.get("/endpoints/new-one/edit/"), 'value="eu, team-a"')


@pytest.mark.parametrize(
    ("over", "is_open"), [({}, False), ({"daily_tokens": 9}, True), ({"options": {"a": 1}}, True)]
)
def test_advanced_fields_are_expanded_if_set(
    signed_in: Client, over: dict[str, Any], is_open: bool
) -> None:
    """Values that are not defaults are visible."""
    make_endpoint(**over)

    page = signed_in.get("/endpoints/steady/edit/").content.decode()

    assert ('<details class="more" open>' in page) is is_open


def test_an_error_in_advanced_fields_expands_them(signed_in: Client) -> None:
    """A field with an error is visible."""
    page = signed_in.post("/endpoints/new/", {**VALID, "options": "{"})

    assert_contains(page, '<details class="more" open>')
