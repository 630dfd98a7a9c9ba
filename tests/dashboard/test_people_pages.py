"""People: who may sign in, who decides it, and one's own password."""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import unescape
from re import search
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.asserts import assertContains, assertNotContains, assertRedirects

from dashboard.errors import Refused
from dashboard.services import people, tokens

CHOSEN = "a long enough sentence 7"


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any) -> None:
    """How slowly a password is hashed is not the subject here."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def administrator(db: None) -> User:
    return User.objects.create_superuser("root")


@pytest.fixture
def as_administrator(client: Client, administrator: User) -> Client:
    client.force_login(administrator)
    return client


def shown_password(page: Any) -> str:
    found = search(r'id="new-password"[^>]*>([^<]+)<', page.content.decode())
    assert found is not None
    return unescape(found[1])


def test_somebody_is_added_and_signs_in_with_the_password_that_is_shown_once(
    as_administrator: Client,
) -> None:
    """The password stands in the answer to the post and nowhere else."""
    page = as_administrator.post("/settings/people/", {"username": "bob"})
    password = shown_password(page)

    assert Client().login(username="bob", password=password)
    assert not User.objects.get(username="bob").is_superuser
    assertNotContains(as_administrator.get("/settings/people/"), password)
    assert "no-store" in page.headers["Cache-Control"]


def test_an_administrator_can_be_added(as_administrator: Client) -> None:
    """The box makes one."""
    as_administrator.post("/settings/people/", {"username": "eve", "administrator": "on"})

    assert User.objects.get(username="eve").is_superuser


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "This field is required."),
        ("<script>alert(1)</script>", "Enter a valid username."),
        ("two words", "Enter a valid username."),
        ("x" * 151, "at most 150 characters"),
        ("ROOT", "There is already somebody called"),
        ("nul\0", "Null characters are not allowed."),
    ],
)
def test_a_bad_name_is_refused_beside_its_field(
    as_administrator: Client, name: str, words: str
) -> None:
    """Nobody is added, and markup stays text; names differ in more than their case."""
    page = as_administrator.post("/settings/people/", {"username": name})

    assertContains(page, words)
    assertNotContains(page, "<script>alert")
    assert User.objects.count() == 1


def test_who_is_deactivated_is_out_at_once_and_for_good(as_administrator: Client) -> None:
    """Open sessions end, the password opens nothing, and reactivating revives no old session."""
    bob = User.objects.create_user("bob", password=CHOSEN)
    session = Client()
    session.force_login(bob)
    assert session.get("/").status_code == 200

    page = as_administrator.post(f"/settings/people/{bob.pk}/deactivate/", follow=True)

    assertContains(page, "bob can no longer sign in")
    assert session.get("/").headers["Location"].startswith("/login/")
    assert not Client().login(username="bob", password=CHOSEN)
    again = as_administrator.post(f"/settings/people/{bob.pk}/reactivate/")
    assert session.get("/").status_code == 302
    assert Client().login(username="bob", password=shown_password(again))


def test_nobody_deactivates_themselves_or_changes_their_own_role(
    as_administrator: Client, administrator: User
) -> None:
    """Neither by the page, which offers neither, nor by a post of one's own making."""
    User.objects.create_superuser("other")
    here = f"/settings/people/{administrator.pk}/"

    assertContains(as_administrator.get(here), "This is you.")
    ended = as_administrator.post(f"{here}deactivate/", follow=True)
    lowered = as_administrator.post(f"{here}role/", {"administrator": "no"}, follow=True)

    assertContains(ended, "You cannot deactivate yourself")
    assertContains(lowered, "You cannot change your own role")
    administrator.refresh_from_db()
    assert administrator.is_active
    assert administrator.is_superuser


@pytest.mark.django_db
@pytest.mark.parametrize(
    "end",
    [
        lambda last, by: people.deactivate(last, by=by),
        lambda last, by: people.set_administrator(last, administrator=False, by=by),
    ],
)
def test_the_last_administrator_stays(end: Callable[[User, User], Any]) -> None:
    """One who is deactivated already does not count as another."""
    last, by = User.objects.create_superuser("last"), User.objects.create_user("by")
    User.objects.create_superuser("gone", is_active=False)

    with pytest.raises(Refused, match="the last administrator"):
        end(last, by)


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_remove_each_other_at_once() -> None:
    """One of them is left, however the two meet."""
    first, second = (User.objects.create_superuser(name) for name in ("first", "second"))
    start = threading.Barrier(2)

    def remove(person: User, by: User) -> None:
        start.wait()
        try:
            people.deactivate(person, by=by)
        except Refused:
            pass
        finally:
            connection.close()

    pairs = [(first, second), (second, first)]
    threads = [threading.Thread(target=remove, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert User.objects.filter(is_active=True).count() == 1


def test_a_new_password_ends_the_old_one_and_its_sessions(as_administrator: Client) -> None:
    """Whoever found the old password is out as well."""
    bob = User.objects.create_user("bob", password=CHOSEN)
    session = Client()
    session.force_login(bob)

    page = as_administrator.post(f"/settings/people/{bob.pk}/password/")

    assert session.get("/").status_code == 302
    assert not Client().login(username="bob", password=CHOSEN)
    assert Client().login(username="bob", password=shown_password(page))


def test_a_role_is_given_and_taken(as_administrator: Client) -> None:
    """The person's page leads there and back, and says what happened."""
    bob = User.objects.create_user("bob")
    here = f"/settings/people/{bob.pk}/"

    up = as_administrator.post(f"{here}role/", {"administrator": "yes"}, follow=True)
    assertContains(up, "bob is an administrator now.")
    down = as_administrator.post(f"{here}role/", {"administrator": "no"}, follow=True)

    assertContains(down, "bob is no administrator.")
    assert not User.objects.get(username="bob").is_superuser


def test_living_tokens_are_named_before_somebody_goes(as_administrator: Client) -> None:
    """Their programs go on, which an administrator has to know."""
    bob = User.objects.create_user("bob")
    tokens.issue(name="report", scopes=["read"], by=bob)
    tokens.revoke(tokens.issue(name="old", scopes=["read"], by=bob).token)

    page = as_administrator.get(f"/settings/people/{bob.pk}/")

    assertContains(page, "1 API token that they made goes on working")


PAGES = ("", "{0}/", "{0}/password/", "{0}/role/", "{0}/deactivate/", "{0}/reactivate/")


@pytest.mark.parametrize("page", PAGES)
def test_people_are_for_administrators(client: Client, person: User, page: str) -> None:
    """Anonymous is sent to sign in, a member is refused, and nothing happens to anybody."""
    address = "/settings/people/" + page.format(person.pk)
    way = client.get if page in PAGES[:2] else client.post

    assert way(address).headers["Location"].startswith("/login/")
    client.force_login(person)
    assert way(address).status_code == 403
    assert User.objects.get().is_active


@pytest.mark.parametrize("number", ["999999", "9" * 30])
def test_nobody_of_that_number_is_not_found(as_administrator: Client, number: str) -> None:
    """Also where the number is larger than any row's."""
    assert as_administrator.get(f"/settings/people/{number}/").status_code == 404


def test_the_list_takes_as_many_queries_for_sixty_as_for_two(as_administrator: Client) -> None:
    """No query for each person."""
    counted = []
    for count in (2, 60):
        User.objects.bulk_create(User(username=f"p{count}-{n}") for n in range(count))
        with CaptureQueriesContext(
            connection,
        ) as queries:
            as_administrator.get("/settings/people/")
        counted.append(len(queries))

    assert counted[0] == counted[1]


def change(client: Client, **over: str) -> Any:
    form = {"old_password": CHOSEN, "new_password1": "another sentence 8", **over}
    form = {"new_password2": form["new_password1"], **form}
    return client.post("/settings/password/", form)


@pytest.mark.django_db
def test_ones_own_password_is_changed() -> None:
    """This session goes on, another one ends, and the new password is the one that counts."""
    bob = User.objects.create_user("bob", password=CHOSEN)
    here, there = Client(), Client()
    here.force_login(bob)
    there.force_login(bob)

    assertRedirects(change(here), "/settings/")

    assert here.get("/settings/").status_code == 200
    assert there.get("/settings/").status_code == 302
    assert Client().login(username="bob", password="another sentence 8")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("over", "words"),
    [
        ({"old_password": "wrong"}, "Your old password was entered incorrectly."),
        ({"new_password1": "zebra 7"}, "This password is too short."),
        ({"new_password1": "password1234"}, "This password is too common."),
        ({"new_password2": "something else 9"}, "The two password fields didn"),
    ],
)
def test_a_bad_password_is_refused_in_words(over: dict[str, str], words: str) -> None:
    """The old one goes on, and nothing that was typed is in the page."""
    bob = User.objects.create_user("bob", password=CHOSEN)
    client = Client()
    client.force_login(bob)

    page = change(client, **over)

    assertContains(page, words)
    assertNotContains(page, over.get("new_password1", "another sentence 8"))
    assert Client().login(username="bob", password=CHOSEN)


def test_ones_own_password_needs_a_person(client: Client) -> None:
    """Nobody changes nobody's password."""
    assert client.get("/settings/password/").headers["Location"].startswith("/login/")
