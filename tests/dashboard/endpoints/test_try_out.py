"""“Try it” on the endpoint form, against simulated and hostile vendors."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from structlog.testing import capture_logs

from dashboard.endpoints.services import try_limit
from dashboard.endpoints.try_out import try_request
from dashboard.models import Credential, Endpoint, TryCount
from dashboard.models.people import Role
from probes.secret import Secret
from tests.factories import make_endpoint, make_person
from tests.markup import assert_contains, assert_not_contains

KEY = "sim-secret-of-the-person"
TRY = "/endpoints/new/try/"


def post_try(client: Client, base_url: str, /, *, at: str = TRY, **over: str) -> Any:
    """The part that htmx swaps into the page."""
    form = {"provider": "openai", "base_url": base_url, "model": "sim-steady", "key": KEY}
    response = client.post(at, {**form, "options": "{}", **over}, headers={"HX-Request": "true"})
    assert_not_contains(response, "<html")
    assert_not_contains(response, over.get("key") or KEY)
    return response


def test_a_working_endpoint_is_reported(signed_in: Client, vendor_url: str) -> None:
    """The report has status, call, format, model, tokens and time; nothing is stored."""
    with capture_logs() as logs:
        part = post_try(signed_in, f"{vendor_url}/openai/v1")

    assert_contains(part, "It works: one tool call came back, just as asked.")
    for fact in ("yes, HTTP status 200", "yes, in the openai format", "probe_echo", "sim-steady"):
        assert_contains(part, fact)
    assert_contains(part, " out</dd>")
    assert_contains(part, "the one entered above")
    assert not Endpoint.objects.exists()
    assert not Credential.objects.exists()
    assert [line["status"] for line in logs if line["event"] == "endpoint tried"] == [200]
    assert KEY not in str(logs)


def test_without_scripts_the_form_comes_back_as_typed(signed_in: Client, vendor_url: str) -> None:
    """The form keeps the typed values except the key, and asks for the key again."""
    form = {"provider": "openai", "base_url": f"{vendor_url}/openai/v1", "model": "sim-steady"}

    page = signed_in.post(TRY, {**form, "slug": "half-typed", "key": KEY, "ttl": "3h"})

    assert_contains(page, "It works")
    assert_contains(page, "</html>")
    assert_contains(page, 'value="half-typed"')
    assert_contains(page, 'value="3h"')
    assert_contains(page, "Enter the API key again")
    assert_not_contains(page, KEY)
    assert_not_contains(page, "Not saved yet")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/hostile/unauthorized/v1", "The API key is wrong, expired or for another service."),
        ("/hostile/forbidden/v1", "The key is known but may not do this."),
        ("/openai", "Did you mean this base URL?"),
        ("/openai/v1/chat/completions", "Did you mean this base URL?"),
        ("/hostile/html/v1", "A web page came back"),
        ("/hostile/huge/v1", "A tool call is a few hundred bytes."),
        ("/hostile/endless/v1", "It is reachable, but its answer could not be read."),
        ("/hostile/garbage/v1", "What came back is no API"),
        ("/hostile/gzip-bomb/v1", "compressed although we asked for plain text"),
        ("/hostile/rate-limited/v1", "its limit is used up for now"),
        ("/hostile/overloaded/v1", "The trouble is on their side"),
        ("/hostile/redirect/v1", "Redirects are not followed."),
        ("/hostile/no-tools/v1", "This model or server takes no tools."),
        ("/hostile/wrong-type/v1", "It answers, but not in the format of this provider."),
        ("/with/prose/openai/v1", "It answers, but made no tool call."),
        ("/with/leak-hermes/openai/v1", "as text, in the hermes format"),
        ("/with/wrong-enum/openai/v1", "It answers and calls the tool, but not as asked."),
        ("/with/new-echo/openai/v1", "the answer names another one:"),
    ],
)
def test_a_problem_is_reported_with_advice(
    signed_in: Client, vendor_url: str, settings: Any, path: str, text: str
) -> None:
    """For every response the part is small and says what to change."""
    settings.TRY_TIMEOUT = timedelta(seconds=5)

    part = post_try(signed_in, vendor_url + path)

    assert_contains(part, text)
    assert len(part.content) < 8_000


def test_the_proposed_base_url_is_the_one_that_works(signed_in: Client, vendor_url: str) -> None:
    """A missing version and a pasted path lead to the same suggestion."""
    for wrong in ("/openai", "/openai/v1/chat/completions"):
        part = post_try(signed_in, vendor_url + wrong)

        assert_contains(part, f'data-use-base-url="{vendor_url}/openai/v1"')


def test_a_closed_port_is_reported(signed_in: Client) -> None:
    """A closed port has its own message and advice."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        part = post_try(signed_in, f"http://127.0.0.1:{closed.getsockname()[1]}/v1")

    assert_contains(part, "It could not be reached.")
    assert_contains(part, "Nothing listens on that port of this machine.")


def test_a_private_address_needs_a_grant(signed_in: Client, vendor_url: str, settings: Any) -> None:
    """The form cannot bypass the egress rules, and the refusal names the setting."""
    settings.EGRESS_GRANTS = ""

    part = post_try(signed_in, f"{vendor_url}/openai/v1")

    assert_contains(part, "add this one to EGRESS_GRANTS and restart")


def test_a_silent_endpoint_times_out(signed_in: Client, vendor_url: str, settings: Any) -> None:
    """A try ends after TRY_TIMEOUT and says that a run waits longer."""
    settings.TRY_TIMEOUT = timedelta(seconds=0.3)

    part = post_try(signed_in, f"{vendor_url}/hostile/hang/v1")

    assert_contains(part, "a run waits longer than a try")


@pytest.mark.parametrize("name", ["echo-auth", "echo-redirect", "hostile-markup"])
def test_vendor_text_is_escaped_and_without_the_key(
    signed_in: Client, vendor_url: str, name: str
) -> None:
    """Neither an echoed key nor markup of a vendor reaches the page."""
    part = post_try(signed_in, f"{vendor_url}/hostile/{name}/v1")

    assert_not_contains(part, "<script")
    assert_not_contains(part, "<img")


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("base_url", "ftp://host", "Base URL: The base URL must begin with http"),
        ("provider", "nobody", "Provider: There is no provider"),
        ("model", "", "Model: This field is required."),
        ("options", "{", "Request options: This is not JSON"),
        ("key", "two words", "API key: The API key has spaces"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_sent(
    signed_in: Client, field: str, value: str, text: str
) -> None:
    """Only the fields of the request are validated; the name can still be empty."""
    part = post_try(signed_in, "http://127.0.0.1:9/v1", **{field: value})

    assert_contains(part, text)
    assert_not_contains(part, "Name:")
    assert not TryCount.objects.exists()


def test_the_stored_key_is_used_where_it_belongs(signed_in: Client, vendor_url: str) -> None:
    """An edit with an empty key field sends the stored key."""
    make_endpoint(base_url=f"{vendor_url}/openai/v1", key=Secret(KEY))

    part = post_try(signed_in, f"{vendor_url}/openai/v1", at="/endpoints/steady/try/", key="")

    assert_contains(part, "It works")
    assert_contains(part, "the stored one")


def test_the_stored_key_never_goes_to_another_host(signed_in: Client, vendor_url: str) -> None:
    """A try to another origin sends no key, as after saving, and says so."""
    make_endpoint(base_url=f"{vendor_url}/openai/v1", key=Secret(KEY))
    elsewhere = vendor_url.replace("127.0.0.1", "localhost")

    part = post_try(signed_in, f"{elsewhere}/openai/v1", at="/endpoints/steady/try/", key="")

    assert_contains(part, "the stored one belongs to another host")
    assert_contains(part, "It wants an API key, and none was sent.")


def test_a_key_that_is_to_be_forgotten_is_not_sent(signed_in: Client, vendor_url: str) -> None:
    """The checkbox applies to a try as it does to saving."""
    url = f"{vendor_url}/openai/v1"
    make_endpoint(base_url=url, key=Secret(KEY))

    part = post_try(signed_in, url, at="/endpoints/steady/try/", key="", forget_key="on")

    assert_contains(part, "It wants an API key, and none was sent.")


def test_tries_per_user_are_limited(signed_in: Client, person: User) -> None:
    """Ten tries per minute and user; other users are not affected."""
    other = make_person("bob", Role.OPERATOR)
    for _ in range(try_limit.MAX_TRIES):
        try_limit.count_try(person)

    part = post_try(signed_in, "http://127.0.0.1:9/v1")
    try_limit.count_try(other)

    assert_contains(part, "10 tries a minute are enough for one person.")


def test_the_limit_resets_after_a_minute(person: User) -> None:
    """The count restarts after the window."""
    for _ in range(try_limit.MAX_TRIES):
        try_limit.count_try(person)
    TryCount.objects.update(begun_at="2026-01-01T00:00Z")

    try_limit.count_try(person)

    assert TryCount.objects.get().used == 1


def test_concurrent_tries_are_limited(signed_in: Client) -> None:
    """Tries cannot occupy all threads of the web process."""
    for _ in range(try_request.MAX_CONCURRENT_TRIES):
        try_request.slots.acquire()
    try:
        part = post_try(signed_in, "http://127.0.0.1:9/v1")
    finally:
        for _ in range(try_request.MAX_CONCURRENT_TRIES):
            try_request.slots.release()

    assert_contains(part, "Several endpoints are being tried just now.")


def test_a_try_requires_a_signed_in_user_and_a_post(client: Client, signed_in: Client) -> None:
    """Anonymous users are redirected to the login; a GET sends no request."""
    assert signed_in.get(TRY).status_code == 405
    assert signed_in.post("/endpoints/nobody/try/").status_code == 404
    signed_in.logout()

    assert client.post(TRY).headers["Location"].startswith("/login/")
