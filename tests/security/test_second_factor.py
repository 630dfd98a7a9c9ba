"""Second factors: set up, used, lost and removed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts import one_time_codes
from dashboard.accounts.services import second_factor
from dashboard.core import account_requirements
from dashboard.models.audit import Action
from tests.factories import make_person
from tests.markup import assert_contains
from tests.security.people import PASSWORD, add_app, app_code, audit_entries, is_signed_in, sign_in
from tests.security.soft_passkey import SoftPasskey, add_passkey

pytestmark = pytest.mark.usefixtures("static_files")

QUESTION = "/login/passkey/options/"


@pytest.fixture
def bob(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return make_person("bob", password=PASSWORD)


@pytest.fixture
def signed_in_client(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def test_an_app_is_set_up_by_its_first_code(signed_in_client: Client, bob: User) -> None:
    """A wrong code changes nothing; the right one returns recovery codes, each valid once."""
    page = signed_in_client.get("/settings/security/app/").content.decode()
    match = re.search(r'<code class="key[^>]*>([A-Z2-7 ]+)</code>', page)
    assert match is not None
    secret = match[1].replace(" ", "")
    assert 'src="data:image/svg+xml;base64,' in page

    assert_contains(
        signed_in_client.post("/settings/security/app/", {"code": "000000"}), "not the code"
    )
    assert not account_requirements.has_second_factor(bob)
    response = signed_in_client.post("/settings/security/app/", {"code": app_code(secret)})
    codes = re.findall(r"\b\d{8}\b", response.content.decode().partition('id="codes"')[2])
    assert len(codes) == 10
    # The database contains neither the secret nor a code in plain text.
    stored = json.dumps([row.data for row in Authenticator.objects.all()])
    assert not any(text in stored for text in (secret, *codes))

    other = Client()
    sign_in(other)
    other.post("/login/code/", {"code": codes[3]})
    assert is_signed_in(other)
    other.post("/logout/")
    sign_in(other)
    other.post("/login/code/", {"code": codes[3]})
    assert not is_signed_in(other)
    assert [entry["after"] for entry in audit_entries(Action.SECOND_FACTOR_CHANGED)] == [
        {"added": "app"},
        {"recovery code": "used"},
    ]


def test_the_code_that_set_an_app_up_is_used_up(signed_in_client: Client, bob: User) -> None:
    """A code is valid once, between setting up, signing in and confirming too."""
    secret = one_time_codes.new_app_secret()
    code = app_code(secret)
    second_factor.add_app(bob, secret=secret, code=code)
    visitor = Client()
    sign_in(visitor)

    assert_contains(visitor.post("/login/code/", {"code": code}), "Each code works once")
    assert not is_signed_in(visitor)
    assert signed_in_client.post("/confirm/", {"code": code}).status_code == 200
    later = app_code(secret, steps_later=1)
    assert signed_in_client.post("/confirm/", {"code": later}).status_code == 302
    assert_contains(visitor.post("/login/code/", {"code": later}), "Each code works once")


def test_new_recovery_codes_replace_the_old_and_go_with_the_last_factor(
    signed_in_client: Client, bob: User
) -> None:
    """Old codes no longer work; without a factor there are none."""
    add_app(bob)
    assert "8" in signed_in_client.post("/settings/security/codes/").content.decode()
    factor = account_requirements.find_factors(bob).get()

    signed_in_client.post(f"/settings/security/{factor.pk}/remove/")

    assert Authenticator.objects.count() == 0
    page = signed_in_client.post("/settings/security/codes/", follow=True)
    assert_contains(page, "set one up first")


def test_a_passkey_signs_in_alone_and_confirms(signed_in_client: Client, bob: User) -> None:
    """A passkey is both factors; another person's, or one for another challenge, is refused."""
    key, foreign = SoftPasskey(), SoftPasskey()
    assert_contains(add_passkey(signed_in_client, key), "recovery codes")
    assert_contains(signed_in_client.get("/settings/security/"), "laptop")
    foreign.id, foreign.owner = key.id, key.owner

    visitor = Client()
    for wrong in (foreign.get(visitor.post(QUESTION).json()), "{}", "[1]", "{", '{"id": 1}'):
        assert visitor.post("/login/passkey/", {"credential": wrong}).status_code in {200, 429}
    assert not is_signed_in(visitor)

    visitor = Client(REMOTE_ADDR="192.0.2.9")
    body = visitor.post(QUESTION).json()
    old = key.get(body)
    visitor.post(QUESTION)
    visitor.post("/login/passkey/", {"credential": old})
    assert not is_signed_in(visitor)
    answer = key.get(visitor.post(QUESTION).json())
    response = visitor.post("/login/passkey/", {"credential": answer, "next": "/incidents/"})
    assert response.headers["Location"] == "/incidents/"
    assert audit_entries(Action.SIGNED_IN)[0]["after"]["how"] == "passkey"

    # As a second step, and to confirm.
    second = Client(REMOTE_ADDR="192.0.2.9")
    assert sign_in(second).headers["Location"] == "/login/code/"
    second.post("/login/code/", {"credential": key.get(second.post(QUESTION).json())})
    assert is_signed_in(second)
    form = {"credential": key.get(second.post(QUESTION).json()), "next": "/settings/tokens/"}
    assert second.post("/confirm/", form).headers["Location"] == "/settings/tokens/"


@pytest.mark.parametrize("part", ["rawId", "userHandle", "signature", "authenticatorData"])
def test_a_number_in_place_of_bytes_makes_no_room_for_so_many(
    signed_in_client: Client, bob: User, part: str
) -> None:
    """A response of a few bytes must not allocate gigabytes."""
    key, visitor = SoftPasskey(), Client()
    add_passkey(signed_in_client, key)
    answer = json.loads(key.get(visitor.post(QUESTION).json()))
    (answer if part in answer else answer["response"])[part] = 10**13

    refused = visitor.post("/login/passkey/", {"credential": json.dumps(answer)})

    assert_contains(refused, "This passkey opens nothing here")
    assert not is_signed_in(visitor)


def test_a_passkey_of_another_site_is_refused(signed_in_client: Client, bob: User) -> None:
    """A credential for another host name is refused."""
    elsewhere = SoftPasskey("testserver.evil.example")

    assert_contains(add_passkey(signed_in_client, elsewhere), "was not made")
    assert not account_requirements.has_second_factor(bob)


def test_pages_opened_by_a_bare_address_say_why_there_are_no_passkeys(
    signed_in_client: Client,
) -> None:
    """Browsers would refuse; the page says what to do instead."""
    page = signed_in_client.get("/settings/security/", headers={"Host": "127.0.0.1:8000"})

    assert_contains(page, "bare address")
    assert "Add a passkey" not in page.content.decode()


def test_an_administrator_takes_a_lost_factor_away(client: Client, bob: User) -> None:
    """The password is enough again, and the audit log names the administrator."""
    add_app(bob)
    admin = Client()
    admin.force_login(User.objects.create_superuser("root"))

    admin.post(f"/settings/people/{bob.pk}/second-factor/")

    assert sign_in(client).headers["Location"] == "/"
    assert audit_entries(Action.SECOND_FACTOR_CHANGED)[-1]["actor"]["name"] == "root"


def test_nobody_removes_what_is_not_theirs(signed_in_client: Client, bob: User) -> None:
    """Another's factor does not exist for them."""
    eve = make_person("eve")
    add_app(eve)
    factor = account_requirements.find_factors(eve).get()

    assert signed_in_client.post(f"/settings/security/{factor.pk}/remove/").status_code == 404
    assert account_requirements.has_second_factor(eve)
