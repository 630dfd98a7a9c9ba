"""Signing in: audit entries, session keys, the second step, and password rules."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django.asserts import assertRedirects

from dashboard.accounts.services import passwords
from dashboard.core.errors import Refused
from dashboard.models.audit import Action
from dashboard.models.people import Role
from tests.factories import make_person
from tests.markup import assert_contains
from tests.security.people import PASSWORD, add_app, app_code, audit_entries, is_signed_in, sign_in

pytestmark = pytest.mark.usefixtures("static_files")


@pytest.fixture
def bob(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return make_person("bob", password=PASSWORD)


def test_coming_and_going_is_written_down(client: Client, bob: User) -> None:
    """Who, how and with which browser; a new session key each time, and none afterwards."""
    client.cookies["session"] = "fixed-by-somebody-else-0123456789"
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    client.post("/login/", {"username": "bob", "password": PASSWORD}, headers={"User-Agent": agent})
    first = client.cookies["session"].value
    client.post("/logout/")
    sign_in(client)

    assert first not in {"fixed-by-somebody-else-0123456789", client.cookies["session"].value}
    assert [entry["after"] for entry in audit_entries(Action.SIGNED_IN)] == [
        {"browser": "Firefox, Linux", "how": "password"},
        {"browser": "", "how": "password"},
    ]
    assert [entry["actor"]["name"] for entry in audit_entries(Action.SIGNED_OUT)] == ["bob"]


def test_deactivated_people_are_answered_like_a_wrong_password(client: Client, bob: User) -> None:
    """The response does not reveal whether the account exists."""
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert_contains(sign_in(client), "Please enter a correct username and password")
    assert not is_signed_in(client)


def test_the_second_step_is_needed_and_leads_on(client: Client, bob: User) -> None:
    """The password alone is not enough; a code works once; redirects stay on this site."""
    secret = add_app(bob)

    assertRedirects(sign_in(client, next="/incidents/"), "/login/code/")
    assert not is_signed_in(client)
    code = app_code(secret)
    answer = client.post("/login/code/", {"code": code})
    assert answer.headers["Location"] == "/incidents/"
    assert audit_entries(Action.SIGNED_IN)[0]["after"]["how"] == "password and code"

    other = Client()
    sign_in(other, next="//evil.example/")
    assert_contains(other.post("/login/code/", {"code": code}), "Each code works once")
    answer = other.post("/login/code/", {"code": app_code(secret, steps_later=1)})
    assert answer.headers["Location"] == "/"
    assertRedirects(Client().get("/login/code/"), "/login/")


def test_a_changed_password_voids_the_first_step(client: Client, bob: User) -> None:
    """After a password change, a pending sign-in cannot be completed with a code."""
    secret = add_app(bob)
    sign_in(client)
    passwords.set_password(bob, password="another battery of horses")

    assertRedirects(client.post("/login/code/", {"code": app_code(secret)}), "/login/")


def test_roles_that_need_a_second_factor_set_one_up_first(
    client: Client, bob: User, settings: Any
) -> None:
    """Other pages redirect to the set-up; people without such a role are not affected."""
    settings.REQUIRE_SECOND_FACTOR = frozenset({"approver", "administrator"})
    client.force_login(bob)
    assert client.get("/incidents/").status_code == 403  # no role at all, and no detour
    approver = make_person("ann", Role.APPROVER)
    client.force_login(approver)

    assertRedirects(client.get("/incidents/"), "/settings/security/")
    part = client.get("/fleet/rows/", headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"] == "/settings/security/"
    assert client.get("/settings/security/app/").status_code == 200
    add_app(approver)
    assert client.get("/incidents/").status_code == 200


@pytest.mark.parametrize(
    "password", ["short", "password1234", "123456789012345", "bob-bob-bob-bob"]
)
def test_password_rules_hold_wherever_one_is_set(client: Client, bob: User, password: str) -> None:
    """Too short, too common, only digits, or too like the name: refused in page and service."""
    bob = User.objects.create_user("bob-bob-bob", password=PASSWORD)
    client.force_login(bob)
    form = {"old_password": PASSWORD, "new_password1": password, "new_password2": password}

    assert_contains(client.post("/settings/password/", form), "error-text")
    with pytest.raises(Refused):
        passwords.set_password(bob, password=password)
    bob.refresh_from_db()
    assert bob.check_password(PASSWORD)
