from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from pytest_django.asserts import assertRedirects

from dashboard.models.people import Role
from tests.factories import make_person
from tests.markup import assert_contains


def test_healthz_answers_without_a_database(client: Client) -> None:
    """The process is alive without a database: no fixture of this test provides one."""
    answer = client.get("/healthz")

    assert (answer.status_code, answer.content) == (200, b"ok")


def test_readyz_says_that_nothing_is_wrong(client: Client, db: None) -> None:
    """A migrated database is ready."""
    answer = client.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"problems": []}


def test_a_person_signs_in_and_out(client: Client, db: None) -> None:
    """Signing in redirects to the requested page."""
    make_person("bob", Role.OPERATOR, password="correct horse battery")

    form = {"username": "bob", "password": "correct horse battery", "next": "/endpoints/new/"}
    assertRedirects(client.post("/login/", form), "/endpoints/new/")
    client.post("/logout/")

    assert client.get("/").status_code == 302


def test_a_login_never_leads_to_another_host(client: Client, db: None) -> None:
    """The redirect after signing in stays on this site."""
    User.objects.create_user("bob", password="correct horse battery")

    form = {"username": "bob", "password": "correct horse battery", "next": "//evil.example/"}
    answer = client.post("/login/", form)

    assert answer.headers["Location"] == "/"


def test_a_wrong_password_is_told(client: Client, db: None) -> None:
    """The page shows an error, and the person is not signed in."""
    page = client.post("/login/", {"username": "bob", "password": "wrong"})

    assert_contains(page, "Please enter a correct username and password")


def test_a_part_that_polls_after_the_session_moves_the_whole_page(client: Client, db: None) -> None:
    """After an expired session, a fragment redirects instead of showing the login form."""
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/endpoints/steady/"}
    answer = client.get("/fleet/rows/", headers=headers, follow=True)

    assert answer.headers["HX-Redirect"] == "/login/?next=%2Fendpoints%2Fsteady%2F"
    assert answer.content == b""


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_fault_pages_need_nothing(name: str) -> None:
    """Error pages render without a context and without a database."""
    assert "To the fleet" in render_to_string(name)


def test_pages_carry_the_strict_policy(signed_in: Client) -> None:
    """No page needs an inline script, an inline style or a style attribute."""
    page = signed_in.get("/endpoints/new/")

    text = page.content.decode()
    assert "unsafe-inline" not in page.headers["Content-Security-Policy"]
    assert "style=" not in text
    assert "<style" not in text
    # JSON data in a script element is allowed: browsers do not execute it.
    scripts = re.findall(r"<script[^>]*>", text)
    assert [tag for tag in scripts if "src=" not in tag and "application/json" not in tag] == []
