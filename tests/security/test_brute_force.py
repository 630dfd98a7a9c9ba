"""Guessing passwords and codes is slowed down, from wherever it comes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone

from dashboard.accounts import login_throttle
from dashboard.models import LoginFailure
from dashboard.models.audit import Action
from tests.factories import make_person
from tests.security.people import (
    PASSWORD,
    CountingHasher,
    add_app,
    app_code,
    audit_entries,
    is_signed_in,
    sign_in,
)

pytestmark = pytest.mark.usefixtures("static_files")


@pytest.fixture
def bob(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = [f"{CountingHasher.__module__}.CountingHasher"]
    return make_person("bob", password=PASSWORD)


def try_password(client: Client, number: int, password: str) -> Any:
    """One of many tries, each with another forged address."""
    forwarded = f"198.51.{number // 250}.{number % 250 + 1}"
    form = {"username": "bob", "password": password}
    headers = {"X-Forwarded-For": forwarded, "User-Agent": f"guesser/{number}"}
    return client.post("/login/", form, headers=headers)


def sign_in_from(address: str, name: str, password: str) -> Any:
    """Sign in behind one proxy, in a new browser."""
    form = {"username": name, "password": password}
    return Client().post("/login/", form, headers={"X-Forwarded-For": address})


def wait_of(name: str, address: str) -> timedelta:
    """The wait of a browser that is not known."""
    request = RequestFactory().post("/login/", REMOTE_ADDR=address)
    return login_throttle.remaining_wait(request, name)


@pytest.fixture
def long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As slow as this machine may be, no wait ends before the tries do."""
    for name in ("FROM_ONE_ADDRESS", "FROM_ANYWHERE", "WITH_ANY_NAME"):
        pace = replace(
            getattr(login_throttle, name), first=timedelta(hours=1), longest=timedelta(hours=1)
        )
        monkeypatch.setattr(login_throttle, name, pace)


@pytest.mark.usefixtures("bob", "long_waits")
@pytest.mark.parametrize(("proxies", "free", "tries"), [(0, 5, 1000), (1, 20, 60)])
def test_a_thousand_tries_are_slowed(settings: Any, proxies: int, free: int, tries: int) -> None:
    """After a few free tries all must wait, the right password too, and cost no hash."""
    client = Client()
    settings.TRUSTED_PROXIES = proxies
    CountingHasher.count = 0

    statuses = [try_password(client, number, "wrong").status_code for number in range(tries)]
    answer = try_password(client, tries, PASSWORD)

    assert statuses == [200] * (free - 1) + [429] * (tries - free + 1)
    assert CountingHasher.count == free
    assert (answer.status_code, is_signed_in(client)) == (429, False)
    assert 1 <= int(answer.headers["Retry-After"]) <= 3600
    assert "try again" in answer.content.decode()
    assert len(audit_entries(Action.SIGN_IN_FAILED)) == 1
    assert LoginFailure.objects.count() <= free


def test_names_that_nobody_has_are_answered_alike(client: Client, bob: User) -> None:
    """The same pages, the same work and the same wait: no answer reveals which names exist."""
    outcomes = {}
    for name in ("bob", "nobody-here"):
        CountingHasher.count = 0
        answers = [sign_in(client, name, "wrong") for _ in range(7)]
        pages = [answer.content.decode().replace(name, "") for answer in answers]
        texts = [page.partition("<main")[2].partition("csrfmiddlewaretoken")[0] for page in pages]
        outcomes[name] = ([answer.status_code for answer in answers], texts, CountingHasher.count)

    assert outcomes["bob"] == outcomes["nobody-here"]
    # The typed name may be a password, so it is not in the log.
    assert [entry["subject"] for entry in audit_entries(Action.SIGN_IN_FAILED)] == [
        "person bob",
        "a name that nobody has",
    ]


def test_the_log_has_one_failure_per_minute_whatever_succeeds_meanwhile(
    client: Client, bob: User
) -> None:
    """Guessing between sign-ins of the owner does not fill the log either."""
    for _ in range(2):
        sign_in(client, password="wrong")
        sign_in(client)
        client.post("/logout/")
    assert len(audit_entries(Action.SIGN_IN_FAILED)) == 1

    LoginFailure.objects.update(audited_at=timezone.now() - timedelta(minutes=2))
    sign_in(client, password="wrong")

    assert len(audit_entries(Action.SIGN_IN_FAILED)) == 2


@pytest.mark.usefixtures("bob")
def test_what_was_not_looked_at_is_not_counted(client: Client) -> None:
    """A form without a name or a password is no guess."""
    for _ in range(6):
        assert sign_in(client, password="").status_code == 200
        assert sign_in(client, "", "wrong").status_code == 200

    assert not LoginFailure.objects.exists()


def test_waits_grow_and_end(client: Client, bob: User) -> None:
    """Each further failure doubles the wait; after it one try is checked; a success resets it."""
    last = [sign_in(client, password="wrong") for _ in range(5)][-1]
    first = wait_of("BOB", "127.0.0.1")
    _move_failures_back(first)
    again = sign_in(client, password="wrong")

    assert timedelta(seconds=25) < first <= timedelta(seconds=30)
    assert (last.status_code, again.status_code) == (429, 429)
    assert 25 < int(last.headers["Retry-After"]) <= 30
    assert timedelta(seconds=50) < wait_of("bob", "127.0.0.1") <= timedelta(seconds=60)
    # Guesses from other addresses do not count for this person's address.
    assert wait_of("bob", "192.0.2.7") == timedelta()
    _move_failures_back(timedelta(minutes=1))
    assert sign_in(client).status_code == 302
    assert wait_of("bob", "127.0.0.1") == timedelta()


def test_strangers_cannot_shut_somebody_out_for_long() -> None:
    """However many tries fail, a name waits two minutes, from one address up to 15; an address
    waits five."""
    assert login_throttle.WITH_ANY_NAME.wait(100_000) == timedelta(minutes=5)
    assert login_throttle.FROM_ANYWHERE.wait(100_000) == timedelta(minutes=2)
    assert login_throttle.FROM_ONE_ADDRESS.wait(100_000) == timedelta(minutes=15)


@pytest.mark.usefixtures("bob", "long_waits")
def test_spraying_many_names_from_one_address_is_slowed(settings: Any) -> None:
    """Each name is tried once; after thirty failures every further try waits and costs no hash.
    Addresses of one /64 count as one, and others are not affected."""
    settings.TRUSTED_PROXIES = 1
    addresses = [f"2001:db8:1:2::{number:x}" for number in range(1, 61)]
    CountingHasher.count = 0

    answers = [
        sign_in_from(address, f"name-{number}", "Spring2026!")
        for number, address in enumerate(addresses)
    ]

    assert [answer.status_code for answer in answers] == [200] * 29 + [429] * 31
    assert CountingHasher.count == 30
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 3600
    assert sign_in_from("2001:db8:1:2::ffff", "bob", PASSWORD).status_code == 429
    assert sign_in_from("2001:db8:1:3::1", "bob", PASSWORD).status_code == 302


def test_a_known_browser_is_not_locked_out_by_others(client: Client, bob: User) -> None:
    """Whatever others try with the name and from the address, its owner signs in where they have
    signed in before; their own failures there still count."""
    sign_in(client)
    client.post("/logout/")
    attacker = Client()
    for number in range(40):
        sign_in(attacker, "bob" if number < 25 else f"name-{number}", "wrong")
        _move_failures_back(timedelta(minutes=20))
    LoginFailure.objects.update(last_at=timezone.now())

    assert sign_in(Client()).status_code == 429
    assert sign_in(client).status_code == 302
    client.post("/logout/")
    statuses = [sign_in(client, password="wrong").status_code for _ in range(6)]
    assert statuses == [200] * 4 + [429] * 2
    assert sign_in(client).status_code == 429


def test_a_known_browser_is_known_for_its_own_people_only(client: Client, bob: User) -> None:
    """One's own account does not help to guess another's password, nor does a forged cookie."""
    make_person("eve", password=PASSWORD)
    sign_in(client, "eve")
    client.post("/logout/")
    forged = Client()
    forged.cookies["browser"] = client.cookies["browser"].value[:-1] + "_"

    for guesser in (client, forged):
        LoginFailure.objects.all().delete()
        statuses = [sign_in(guesser, password="wrong").status_code for _ in range(6)]
        assert statuses == [200] * 4 + [429] * 2
        assert sign_in(Client()).status_code == 429


def test_a_session_confirms_whatever_others_try_from_its_address(bob: User) -> None:
    """A signed-in person is delayed by failures with their own name only."""
    inside = Client()
    inside.force_login(bob)
    for number in range(31):
        sign_in(Client(), f"name-{number}", "wrong")

    assert sign_in(Client()).status_code == 429
    assert inside.post("/confirm/", {"password": PASSWORD}).status_code == 302


def test_an_administrator_lets_somebody_try_at_once(client: Client, bob: User) -> None:
    """The wait ends, and the audit log names the administrator."""
    for _ in range(6):
        sign_in(client, password="wrong")
    admin = Client()
    admin.force_login(User.objects.create_superuser("root"))

    admin.post(f"/settings/people/{bob.pk}/unlock/")

    assert sign_in(client).status_code == 302
    assert audit_entries(Action.SIGN_IN_UNLOCKED)[0]["actor"]["name"] == "root"


def test_codes_and_confirmations_cannot_be_guessed_either(client: Client, bob: User) -> None:
    """Wrong codes count like wrong passwords, and a new sign-in does not reset the count."""
    secret = add_app(bob)
    for _ in range(3):
        sign_in(client)
        client.post("/login/code/", {"code": "000000"})
    sign_in(client)
    statuses = [client.post("/login/code/", {"code": "000000"}).status_code for _ in range(3)]
    right = client.post("/login/code/", {"code": app_code(secret)})

    assert (statuses, right.status_code) == ([200, 429, 429], 429)
    assert sign_in(client).status_code == 429
    assert not is_signed_in(client)

    inside = Client()
    inside.force_login(bob)
    for page in ("/confirm/", "/settings/password/"):
        LoginFailure.objects.all().delete()
        form = {"password": "wrong", "old_password": "wrong"}
        codes = [inside.post(page, form).status_code for _ in range(6)]
        assert codes == [200] * 4 + [429] * 2, page


def _move_failures_back(span: timedelta) -> None:
    """Simulate that this much time has passed since the last failure."""
    for row in LoginFailure.objects.all():
        earlier = row.last_at - span - timedelta(seconds=1)
        LoginFailure.objects.filter(pk=row.pk).update(last_at=earlier)
