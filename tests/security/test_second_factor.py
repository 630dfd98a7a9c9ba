"""Second factors: set up, used, lost and taken away."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client

from dashboard.accounts import second_factor
from dashboard.models.audit import Action
from tests.factories import make_person
from tests.markup import assert_contains
from tests.security.people import PASSWORD, code_of, is_in, sign_in, told, with_app
from tests.security.soft_passkey import SoftPasskey, add_passkey

pytestmark = pytest.mark.usefixtures("static_files")

QUESTION = "/login/passkey/options/"


@pytest.fixture
def bob(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return make_person("bob", password=PASSWORD)


@pytest.fixture
def inside(client: Client, bob: User) -> Client:
    client.force_login(bob)
    return client


def test_an_app_is_set_up_by_its_first_code(inside: Client, bob: User) -> None:
    """A wrong code changes nothing; the right one brings recovery codes, each good for once."""
    page = inside.get("/settings/security/app/").content.decode()
    shown = re.search(r'<code class="key[^>]*>([A-Z2-7 ]+)</code>', page)
    assert shown is not None
    secret = shown[1].replace(" ", "")
    assert 'src="data:image/svg+xml;base64,' in page

    assert_contains(inside.post("/settings/security/app/", {"code": "000000"}), "not the code")
    assert not second_factor.has_second_factor(bob)
    done = inside.post("/settings/security/app/", {"code": code_of(secret)})
    codes = re.findall(r"\b\d{8}\b", done.content.decode().partition('id="codes"')[2])
    assert len(codes) == 10
    # Neither the secret nor a code stands in the database as it is.
    kept = json.dumps([row.data for row in Authenticator.objects.all()])
    assert not any(each in kept for each in (secret, *codes))

    other = Client()
    sign_in(other)
    other.post("/login/code/", {"code": codes[3]})
    assert is_in(other)
    other.post("/logout/")
    sign_in(other)
    other.post("/login/code/", {"code": codes[3]})
    assert not is_in(other)
    assert [entry["after"] for entry in told(Action.SECOND_FACTOR_CHANGED)] == [
        {"added": "app"},
        {"recovery code": "used"},
    ]


def test_new_recovery_codes_replace_the_old_and_go_with_the_last_factor(
    inside: Client, bob: User
) -> None:
    """Old ones open nothing; without a factor there are none."""
    with_app(bob)
    assert "8" in inside.post("/settings/security/codes/").content.decode()
    factor = second_factor.find_factors(bob).get()

    inside.post(f"/settings/security/{factor.pk}/remove/")

    assert Authenticator.objects.count() == 0
    page = inside.post("/settings/security/codes/", follow=True)
    assert_contains(page, "set one up first")


def test_a_passkey_signs_in_alone_and_confirms(inside: Client, bob: User) -> None:
    """It is both factors at once; another's, or an answer to another question, opens nothing."""
    key, foreign = SoftPasskey(), SoftPasskey()
    assert_contains(add_passkey(inside, key), "recovery codes")
    assert_contains(inside.get("/settings/security/"), "laptop")
    foreign.id, foreign.owner = key.id, key.owner

    visitor = Client()
    for wrong in (foreign.get(visitor.post(QUESTION).json()), "{}", "[1]", "{", '{"id": 1}'):
        assert visitor.post("/login/passkey/", {"credential": wrong}).status_code in {200, 429}
    assert not is_in(visitor)

    visitor = Client(REMOTE_ADDR="192.0.2.9")
    body = visitor.post(QUESTION).json()
    old = key.get(body)
    visitor.post(QUESTION)
    visitor.post("/login/passkey/", {"credential": old})
    assert not is_in(visitor)
    answer = key.get(visitor.post(QUESTION).json())
    done = visitor.post("/login/passkey/", {"credential": answer, "next": "/incidents/"})
    assert done.headers["Location"] == "/incidents/"
    assert told(Action.SIGNED_IN)[0]["after"]["how"] == "passkey"

    # As a second step, and to confirm.
    second = Client(REMOTE_ADDR="192.0.2.9")
    assert sign_in(second).headers["Location"] == "/login/code/"
    second.post("/login/code/", {"credential": key.get(second.post(QUESTION).json())})
    assert is_in(second)
    form = {"credential": key.get(second.post(QUESTION).json()), "next": "/settings/tokens/"}
    assert second.post("/confirm/", form).headers["Location"] == "/settings/tokens/"


@pytest.mark.parametrize("part", ["rawId", "userHandle", "signature", "authenticatorData"])
def test_a_number_in_place_of_bytes_makes_no_room_for_so_many(
    inside: Client, bob: User, part: str
) -> None:
    """An answer of a few bytes must not take gigabytes of memory."""
    key, visitor = SoftPasskey(), Client()
    add_passkey(inside, key)
    answer = json.loads(key.get(visitor.post(QUESTION).json()))
    (answer if part in answer else answer["response"])[part] = 10**13

    refused = visitor.post("/login/passkey/", {"credential": json.dumps(answer)})

    assert_contains(refused, "This passkey opens nothing here")
    assert not is_in(visitor)


def test_a_passkey_of_another_site_is_refused(inside: Client, bob: User) -> None:
    """What was made or answered for another host name counts for nothing."""
    elsewhere = SoftPasskey("testserver.evil.example")

    assert_contains(add_passkey(inside, elsewhere), "was not made")
    assert not second_factor.has_second_factor(bob)


def test_pages_opened_by_a_bare_address_say_why_there_are_no_passkeys(inside: Client) -> None:
    """Browsers would refuse; the page says what to do instead."""
    page = inside.get("/settings/security/", headers={"Host": "127.0.0.1:8000"})

    assert_contains(page, "bare address")
    assert "Add a passkey" not in page.content.decode()


def test_an_administrator_takes_a_lost_factor_away(client: Client, bob: User) -> None:
    """The password is enough again, and the log says who did it."""
    with_app(bob)
    admin = Client()
    admin.force_login(User.objects.create_superuser("root"))

    admin.post(f"/settings/people/{bob.pk}/second-factor/")

    assert sign_in(client).headers["Location"] == "/"
    assert told(Action.SECOND_FACTOR_CHANGED)[-1]["actor"]["name"] == "root"


def test_nobody_removes_what_is_not_theirs(inside: Client, bob: User) -> None:
    """Another's factor does not exist for them."""
    eve = make_person("eve")
    with_app(eve)
    factor = second_factor.find_factors(eve).get()

    assert inside.post(f"/settings/security/{factor.pk}/remove/").status_code == 404
    assert second_factor.has_second_factor(eve)
