"""Changes of credentials require a recent sign-in or confirmation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django.asserts import assertRedirects

from dashboard.models import ApiToken
from tests.factories import make_endpoint
from tests.markup import assert_contains
from tests.security.people import PASSWORD, add_app, app_code

pytestmark = pytest.mark.usefixtures("static_files")

TOKEN = {"name": "ci", "scopes": "read", "lasts": "30"}
CREDENTIALS: tuple[tuple[str, dict[str, str]], ...] = (
    ("/settings/tokens/", TOKEN),
    ("/settings/people/", {"username": "eve"}),
    ("/settings/people/1/unlock/", {}),
    ("/settings/people/1/password/", {}),
    ("/settings/channels/new/", {"name": "x"}),
    ("/settings/import/", {"do": "apply", "text": "x"}),
    ("/endpoints/new/", {"key": "sk-1"}),
    ("/endpoints/steady/edit/", {"forget_key": "on"}),
    ("/settings/security/codes/", {}),
    ("/settings/security/1/remove/", {}),
)


@pytest.fixture
def stale(client: Client, db: None, settings: Any) -> Client:
    """An administrator who signed in an hour ago."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    client.force_login(User.objects.create_superuser("root", password=PASSWORD))
    session = client.session
    session["since"] = (timezone.now() - timedelta(hours=1)).isoformat()
    session.save()
    return client


def test_a_token_needs_a_fresh_confirmation(stale: Client) -> None:
    """No token is created before; after the password it is, without another confirmation."""
    headers = {"Referer": "http://testserver/settings/tokens/"}
    response = stale.post("/settings/tokens/", TOKEN, headers=headers)

    assertRedirects(response, "/confirm/?next=/settings/tokens/")
    assert not ApiToken.objects.exists()
    page = stale.get("/confirm/?next=/settings/tokens/")
    assert_contains(page, "Confirm that it is you")

    wrong = stale.post("/confirm/", {"password": "wrong", "next": "/settings/tokens/"})
    assert_contains(wrong, "This was not right")
    right = stale.post("/confirm/", {"password": PASSWORD, "next": "/settings/tokens/"})
    assertRedirects(right, "/settings/tokens/")
    stale.post("/settings/tokens/", TOKEN)
    assert ApiToken.objects.count() == 1


def test_everything_about_credentials_asks(stale: Client) -> None:
    """Every change of credentials needs a confirmation; reading the same pages does not."""
    make_endpoint()
    for path, form in CREDENTIALS:
        response = stale.post(path, form)
        assert response.headers.get("Location", "").startswith("/confirm/"), path
    for path in ("/settings/tokens/", "/settings/people/", "/endpoints/steady/edit/"):
        assert stale.get(path).status_code == 200
    part = stale.post("/settings/tokens/", TOKEN, headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"].startswith("/confirm/")


def test_a_code_confirms_and_nobody_is_led_away(stale: Client) -> None:
    """A code confirms too, and the redirect stays on this site."""
    secret = add_app(User.objects.get(username="root"))
    answer = stale.post("/confirm/", {"code": app_code(secret), "next": "https://evil.example/"})

    assert answer.headers["Location"] == "/settings/"
    assert stale.post("/settings/tokens/", TOKEN).status_code == 200
